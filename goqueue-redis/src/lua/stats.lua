-- Counts the jobs of one queue. Reads only.
--
-- KEYS  1 ready  2 scheduled  3 leases  4 parked  5 parked_due  6 dead_order
-- ARGV  none
-- Returns ready, scheduled, running, dead, and how long the longest-waiting job has been due
-- (milliseconds), or -1.
local ready, scheduled, leases, parked, parked_due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local now = clock()
local due = redis.call('ZCOUNT', scheduled, '-inf', now)
local ended = redis.call('ZCOUNT', leases, '-inf', now)
local not_due = redis.call('ZCOUNT', parked_due, '(' .. now, '+inf')

local oldest = math.huge
local function waits_since(record, at)
  if record and #record >= at + 5 then
    oldest = math.min(oldest, struct.unpack('>I6', record, at))
  end
end
waits_since(redis.call('LINDEX', ready, 0), 2)
waits_since(redis.call('ZRANGE', parked, 0, 0)[1], 8)
for _, key in ipairs({ scheduled, leases }) do
  local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
  if first[2] then
    oldest = math.min(oldest, tonumber(first[2]))
  end
end

return {
  redis.call('LLEN', ready) + due + ended + redis.call('ZCARD', parked) - not_due,
  redis.call('ZCARD', scheduled) - due + not_due,
  redis.call('ZCARD', leases) - ended,
  redis.call('ZCARD', KEYS[6]),
  oldest <= now and now - oldest or -1,
}

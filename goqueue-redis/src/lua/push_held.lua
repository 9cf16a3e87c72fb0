-- Stores one job that is due at once and has no key under a lease, for a reservation that waits. With
-- jobs before it, it is stored ready as push.lua does. Refused when the server is out of memory.
--
-- KEYS  1 ready  2 waiting  3 running  4 leases
-- ARGV  1 channel  2 the tail of the job (its record from the id on)  3 lease (milliseconds)
--       4 token (8 bytes)
-- Returns 1 when it is under the lease.
local ready, waiting, running, leases = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local now = clock()
local record = struct.pack('>BI6', 1, now) .. ARGV[2]
if redis.call('LLEN', ready) == 0 then
  -- A foreign value at this key stops the call before it has done anything.
  redis.call('ZCARD', leases)
  local member = string.sub(record, 8, 23) .. ARGV[4]
  redis.call('HSET', running, member, record)
  redis.call('ZADD', leases, string.format('%.0f', now + ARGV[3] + 1), member)
  return 1
end
local looks_again = waiting_until(waiting)
redis.call('RPUSH', ready, record)
wake(waiting, ARGV[1], looks_again, now)
return 0

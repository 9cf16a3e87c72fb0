-- Takes ready jobs of one queue under leases, after promoting what is due and recovering what has
-- expired, both in bounded numbers.
--
-- KEYS  1 ready  2 scheduled  3 running  4 leases  5 waiting
-- ARGV  1 most jobs, at most 32,767  2 lease (milliseconds)  3 what the tokens begin with (6 bytes)
--       4 what to note when there is nothing: 0, or for how long (milliseconds) a worker will wait
--       5 most promotions  6 most bytes
-- Returns the milliseconds until something is due, or -1; the number of jobs left ready; then the
-- records as they were, whose count of deliveries this one is not part of yet. Their tokens end with
-- the record's number, from 1, times two, plus one if it has an ordering or a unique key (2 bytes).
local ready, scheduled, running, leases, waiting = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local most, lease, token = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3]
local wait, bound, bytes = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[6])
local now = clock()

-- These change nothing. They fail before anything is written if the keys are not what they should
-- be, and they are writes that need no memory: after them a server that is out of memory lets the
-- script go on, and workers can empty it.
redis.call('HDEL', running, '')
redis.call('ZREM', leases, '')

promote(ready, scheduled, now, bound, bytes)
recover(ready, running, leases, now, bound)

local records, size = {}, 0
local chunk = math.min(most, 16)
while chunk > 0 do
  local part = redis.call('LRANGE', ready, #records, #records + chunk - 1)
  for _, record in ipairs(part) do
    records[#records + 1] = record
    size = size + #record
  end
  if #part < chunk or size >= bytes then
    break
  end
  chunk = math.min(most - #records, math.floor((bytes - size) / (size / #records)))
end

if #records == 0 then
  local next_due = -1
  for _, key in ipairs({ scheduled, leases }) do
    local first = redis.call('ZRANGE', key, 0, 0, 'WITHSCORES')
    if first[2] then
      local due = math.max(0, tonumber(first[2]) - now)
      next_due = next_due < 0 and due or math.min(next_due, due)
    end
  end
  if wait > 0 then
    local looks_again = next_due < 0 and '1e300' or now + next_due
    redis.call('SET', waiting, looks_again, 'PX', wait)
  end
  return { next_due, 0 }
end

local held, ends = {}, {}
-- As text: Redis would write the number out anew for each job.
local expiry = string.format('%.0f', now + lease + 1)
for i, record in ipairs(records) do
  if not is_record(record) then
    -- Not ours. Its bytes are handed out as a job, which fails to decode and ends in the dead letters.
    record = struct.pack('>BI6', 1, now) .. token
      .. struct.pack('>I8I2I4B', i, 0, 0, 0) .. record
    records[i] = record
  end
  local is_keyed = string.byte(record, 28) % 4 > 0
  local ending = i * 2 + (is_keyed and 1 or 0)
  ending = string.char(math.floor(ending / 256), ending % 256)
  local member = string.sub(record, 8, 23) .. token .. ending
  held[i * 2 - 1], held[i * 2] = member, record
  ends[i * 2 - 1], ends[i * 2] = expiry, member
end
redis.call('HSET', running, unpack(held))
redis.call('ZADD', leases, unpack(ends))
redis.call('LTRIM', ready, #records, -1)
return { 0, redis.call('LLEN', ready), unpack(records) }

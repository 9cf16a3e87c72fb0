-- Removes some of the jobs of one queue that are not running, and frees their keys, held or not.
-- Those that wait for their lane go first, so that no lane is ever left without its first job.
--
-- KEYS  1 ready  2 scheduled  3 lanes  4 parked  5 parked_due  6 unique  7 holds
-- ARGV  1 bound  2 most bytes
-- Returns how many were removed; none is the end.
local ready, scheduled, lanes, parked, parked_due = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local unique, holds = KEYS[6], KEYS[7]
local bound, bytes = tonumber(ARGV[1]), tonumber(ARGV[2])
local now = clock()

local function free(record)
  if not is_record(record) then
    return
  end
  local job = split(record)
  local taken = job.unique and redis.call('HGET', unique, job.unique)
  if taken and string.sub(taken, 1, 16) == job.id then
    redis.call('HDEL', unique, job.unique)
    redis.call('ZREM', holds, job.unique)
  end
  return job.ordering
end

local first = redis.call('ZRANGE', parked, 0, 0)[1]
if first then
  local members = redis.call('ZRANGE', parked, 0, portion(first, bound, bytes) - 1)
  for _, member in ipairs(members) do
    free(string.sub(member, 7))
  end
  redis.call('ZREM', parked, unpack(members))
  redis.call('ZREM', parked_due, unpack(members))
  return #members
end

local records
first = redis.call('ZRANGE', scheduled, 0, 0)[1]
if first then
  records = redis.call('ZRANGE', scheduled, 0, portion(first, bound, bytes) - 1)
  redis.call('ZREMRANGEBYRANK', scheduled, 0, #records - 1)
else
  first = redis.call('LINDEX', ready, 0)
  if not first then
    return 0
  end
  records = redis.call('LRANGE', ready, 0, portion(first, bound, bytes) - 1)
  redis.call('LTRIM', ready, #records, -1)
end
for _, record in ipairs(records) do
  local ordering = free(record)
  if ordering then
    leave_lane(lanes, parked, parked_due, ready, scheduled, ordering, now)
  end
end
return #records

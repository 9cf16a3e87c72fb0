-- Takes jobs under leases: the least that a reservation does.
--
-- KEYS  1 ready  2 running  3 leases
-- ARGV  1 most jobs  2 what the leases begin with
local time = redis.call('TIME')
local jobs = redis.call('LRANGE', KEYS[1], 0, ARGV[1] - 1)
if #jobs == 0 then
  return jobs
end
local held, ends = {}, {}
for i, job in ipairs(jobs) do
  local lease = string.format('%s:%016d', ARGV[2], i)
  held[i * 2 - 1], held[i * 2] = lease, job
  ends[i * 2 - 1], ends[i * 2] = time[1] + 60, lease
end
redis.call('HSET', KEYS[2], unpack(held))
redis.call('ZADD', KEYS[3], unpack(ends))
redis.call('LTRIM', KEYS[1], #jobs, -1)
return jobs

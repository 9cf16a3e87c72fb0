-- Lists jobs that are scheduled or running, by the time at which that ends. Reads only.
--
-- KEYS  1 scheduled  2 parked_due, or 1 leases  2 running
-- ARGV  1 `scheduled` or `running`  2 from which time on, or '' for now
--       3 how many of that time to pass over in the first set  4 and in the second
--       5 most jobs  6 most bytes
-- Returns now; then for each job its time, which set it is from (1 or 2), and its record.
local kind, from, most, bytes = ARGV[1], ARGV[2], tonumber(ARGV[5]), tonumber(ARGV[6])
local now = clock()
if from == '' then
  from = '(' .. now
end

local function range(key, skip)
  return redis.call('ZRANGEBYSCORE', key, from, '+inf', 'WITHSCORES', 'LIMIT', skip, most)
end
local sets = { range(KEYS[1], ARGV[3]), {} }
if kind == 'scheduled' then
  sets[2] = range(KEYS[2], ARGV[4])
end

local found, size, at = { now }, 0, { 1, 1 }
while (#found - 1) / 3 < most and size < bytes do
  local set
  for candidate = 1, 2 do
    local time = tonumber(sets[candidate][at[candidate] + 1])
    if time and (not set or time < tonumber(sets[set][at[set] + 1])) then
      set = candidate
    end
  end
  if not set then
    break
  end
  local record = sets[set][at[set]]
  if kind == 'running' then
    record = redis.call('HGET', KEYS[2], record) or ''
  elseif set == 2 then
    record = string.sub(record, 7)
  end
  found[#found + 1] = tonumber(sets[set][at[set] + 1])
  found[#found + 1] = set
  found[#found + 1] = record
  size = size + #record
  at[set] = at[set] + 2
end
return found

-- Stores jobs of one queue, in order, of which some are delayed or have a key. Refused as a whole when
-- the server is out of memory: the first write may enlarge a key, and nothing is written before it.
--
-- KEYS  1 ready  2 waiting  3 scheduled  4 lanes  5 parked  6 parked_due  7 unique  8 holds
-- ARGV  1 channel, then for each job: delay, ordering key, unique key, hold (milliseconds; '' is no
--       key), tail (its record from the id on)
-- Returns nothing when all are stored; otherwise for each job '' or the id that holds its unique key.
local ready, waiting = KEYS[1], KEYS[2]
local channel = ARGV[1]
local looks_again = waiting_until(waiting)
local now = clock()

local scheduled, lanes, parked, parked_due = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local unique, holds = KEYS[7], KEYS[8]
local outcomes, refused, first_due = {}, false, math.huge
-- Keys of a wrong type stop the call here, before it has stored a part of it.
for command, keys in pairs({
  LLEN = { ready }, HLEN = { lanes, unique }, ZCARD = { scheduled, parked, parked_due, holds },
}) do
  for _, key in ipairs(keys) do
    redis.call(command, key)
  end
end

local function add(delay, ordering, tail)
  -- The rounding of the clock must not make a delayed job early.
  local due = delay > 0 and now + delay + 1 or now
  local record = struct.pack('>BI6', 1, due) .. tail
  if ordering ~= '' and join_lane(lanes, parked, parked_due, ordering, record, due, now) then
    return
  end
  if due > now then
    redis.call('ZADD', scheduled, due, record)
  else
    redis.call('RPUSH', ready, record)
  end
  first_due = math.min(first_due, due)
end

for i = 2, #ARGV, 5 do
  local delay, key, hold = tonumber(ARGV[i]), ARGV[i + 2], tonumber(ARGV[i + 3])
  local tail, holder = ARGV[i + 4], ''
  if key ~= '' then
    local taken = redis.call('HGET', unique, key)
    if taken and #taken == 23 then
      local lives, till = struct.unpack('>BI6', taken, 17)
      if lives == 1 or till > now then
        holder, refused = string.sub(taken, 1, 16), true
      end
    end
    if holder == '' then
      local till = hold > 0 and now + hold + 1 or 0
      take_unique(unique, holds, key, string.sub(tail, 1, 16), till)
    end
  end
  if holder == '' then
    add(delay, ARGV[i + 1], tail)
  end
  outcomes[#outcomes + 1] = holder
end
wake(waiting, channel, looks_again, first_due)
return refused and outcomes or nil

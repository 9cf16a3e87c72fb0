-- Makes dead letters ready again, with no attempt spent. One whose unique key belongs to a live job
-- stays.
--
-- KEYS  1 dead  2 dead_order  3 dead_age  4 ready  5 scheduled  6 waiting  7 lanes  8 parked
--       9 parked_due  10 unique  11 holds
-- ARGV  1 channel, then ids (16 bytes)
-- Returns how many were moved.
local dead, dead_order, dead_age, ready, scheduled = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local waiting, lanes, parked, parked_due = KEYS[6], KEYS[7], KEYS[8], KEYS[9]
local unique, holds = KEYS[10], KEYS[11]
local looks_again = waiting_until(waiting)
local now = clock()
local moved = 0

-- The flags, keys and body of a letter, or nothing when it is not one.
local function rest_of(letter)
  if #letter < 18 or string.byte(letter, 1) ~= 1 then
    return nil
  end
  local at = 14 + struct.unpack('>I2', letter, 12)
  if #letter < at + 4 then
    return nil
  end
  at = at + 4 + struct.unpack('>I4', letter, at)
  if #letter < at then
    return nil
  end
  return string.sub(letter, at)
end

for i = 2, #ARGV do
  local id = ARGV[i]
  local letter = redis.call('HGET', dead, id)
  local rest = letter and rest_of(letter)
  local record = rest and struct.pack('>BI6', 1, now) .. id .. struct.pack('>I4', 0) .. rest
  if record and is_record(record) then
    local job = split(record)
    local taken = job.unique and redis.call('HGET', unique, job.unique)
    local till, lives = 0, 0
    if taken and #taken == 23 then
      lives, till = struct.unpack('>BI6', taken, 17)
    end
    if lives == 0 then
      if job.unique then
        take_unique(unique, holds, job.unique, id, till)
      end
      if not (job.ordering
          and join_lane(lanes, parked, parked_due, job.ordering, record, now, now)) then
        redis.call('RPUSH', ready, record)
      end
      redis.call('HDEL', dead, id)
      redis.call('ZREM', dead_order, id)
      redis.call('ZREM', dead_age, id)
      moved = moved + 1
    end
  end
end
if moved > 0 then
  wake(waiting, ARGV[1], looks_again, now)
end
return moved

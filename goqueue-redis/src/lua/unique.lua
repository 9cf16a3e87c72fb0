-- Shared: unique keys. Prepended to the scripts that take or free one.
--
-- The hash `unique` has for each taken key: the job's id (16 bytes), whether the job lives (1), and
-- until when the key stays taken all the same (6, milliseconds). The sorted set `holds` has, by
-- that time, the keys whose job is gone.
local function take_unique(unique, holds, key, id, till)
  redis.call('HSET', unique, key, id .. struct.pack('>BI6', 1, till))
  redis.call('ZREM', holds, key)
end

-- The job has ended: its key is free, or held until its time is over.
local function release_unique(unique, holds, key, id, now)
  local taken = redis.call('HGET', unique, key)
  if not taken or #taken ~= 23 or string.sub(taken, 1, 16) ~= id then
    return
  end
  local till = struct.unpack('>I6', taken, 18)
  if till > now then
    redis.call('HSET', unique, key, id .. struct.pack('>BI6', 0, till))
    redis.call('ZADD', holds, till, key)
  else
    redis.call('HDEL', unique, key)
  end
end

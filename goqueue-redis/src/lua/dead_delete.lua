-- Removes dead letters.
--
-- KEYS  1 dead  2 dead_order  3 dead_age
-- ARGV  ids (16 bytes)
-- Returns how many there were.
local count = redis.call('HDEL', KEYS[1], unpack(ARGV))
redis.call('ZREM', KEYS[2], unpack(ARGV))
redis.call('ZREM', KEYS[3], unpack(ARGV))
return count

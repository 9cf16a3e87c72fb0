-- Keeps one dead letter that comes from elsewhere, in the place of an earlier one of the same id, and
-- ends a few whose retention is over: no worker may be there to do it.
--
-- KEYS  1 dead  2 dead_order  3 dead_age
-- ARGV  1 id (16 bytes)  2 letter  3 retention (milliseconds)
local now = clock()
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], now, ARGV[1])
local old = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[3]), 'LIMIT', 0, 100)
if #old > 0 then
  redis.call('HDEL', KEYS[1], unpack(old))
  redis.call('ZREM', KEYS[2], unpack(old))
  redis.call('ZREM', KEYS[3], unpack(old))
end
return redis.status_reply('OK')

-- Ends leases: the least that an ack does.
--
-- KEYS  1 running  2 leases
-- ARGV  the leases
redis.call('ZREM', KEYS[2], unpack(ARGV))
redis.call('HDEL', KEYS[1], unpack(ARGV))
return nil

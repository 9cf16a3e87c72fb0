-- Stores jobs, and looks whether somebody waits: the least that a push does.
--
-- KEYS  1 ready  2 waiting
-- ARGV  the jobs
redis.call('GET', KEYS[2])
redis.call('TIME')
redis.call('RPUSH', KEYS[1], unpack(ARGV))
return nil

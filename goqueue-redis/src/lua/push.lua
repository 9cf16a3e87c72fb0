-- Stores jobs of one queue that are due at once and have no key, in order. Refused as a whole when the
-- server is out of memory.
--
-- KEYS  1 ready  2 waiting
-- ARGV  1 channel, then the tail of each job (its record from the id on)
local looks_again = waiting_until(KEYS[2])
local now = clock()
local stamp = struct.pack('>BI6', 1, now)
local records = {}
for i = 2, #ARGV do
  records[i - 1] = stamp .. ARGV[i]
end
redis.call('RPUSH', KEYS[1], unpack(records))
wake(KEYS[2], ARGV[1], looks_again, now)
return nil

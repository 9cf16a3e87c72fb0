-- Moves the ends of leases of one queue.
--
-- KEYS  1 leases  2 waiting
-- ARGV  1 channel  2 by how much from now (milliseconds)  then the leases: id (16 bytes) and token (8)
-- Returns the positions, from 1, of those that are lost.
local leases, waiting = KEYS[1], KEYS[2]
local looks_again = waiting_until(waiting)
-- A write that changes nothing and needs no memory, so that leases are kept on a full server too.
redis.call('ZREM', leases, '')
local expiry = clock() + tonumber(ARGV[2]) + 1
local scores = redis.call('ZMSCORE', leases, unpack(ARGV, 3))
local held, lost = {}, {}
for i = 1, #ARGV - 2 do
  if scores[i] then
    held[#held + 1] = expiry
    held[#held + 1] = ARGV[i + 2]
  else
    lost[#lost + 1] = i
  end
end
if #held > 0 then
  redis.call('ZADD', leases, 'XX', unpack(held))
  wake(waiting, ARGV[1], looks_again, expiry)
end
return lost

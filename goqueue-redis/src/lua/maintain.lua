-- One bounded pass over one queue: promotion, recovery, and the end of dead letters and held keys.
--
-- KEYS  1 ready  2 scheduled  3 running  4 leases  5 waiting  6 dead  7 dead_order  8 dead_age
--       9 unique  10 holds
-- ARGV  1 channel  2 bound  3 most bytes  4 retention of dead letters (milliseconds)
-- Returns promoted, recovered, purged, and 1 when it stopped at its bound.
local ready, scheduled, running, leases, waiting = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local dead, dead_order, dead_age, unique, holds = KEYS[6], KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local bound, bytes, retention = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local looks_again = waiting_until(waiting)
local now = clock()
-- As in reserve.lua.
redis.call('HDEL', running, '')
redis.call('ZREM', leases, '')

local promoted, more_due = promote(ready, scheduled, now, bound, bytes)
local recovered, more_ended = recover(ready, running, leases, now, bound)
if promoted + recovered > 0 then
  wake(waiting, ARGV[1], looks_again, now)
end

local old = redis.call('ZRANGEBYSCORE', dead_age, '-inf', now - retention, 'LIMIT', 0, bound)
if #old > 0 then
  redis.call('HDEL', dead, unpack(old))
  redis.call('ZREM', dead_order, unpack(old))
  redis.call('ZREM', dead_age, unpack(old))
end

local free = redis.call('ZRANGEBYSCORE', holds, '-inf', now, 'LIMIT', 0, bound)
if #free > 0 then
  redis.call('HDEL', unique, unpack(free))
  redis.call('ZREM', holds, unpack(free))
end

local more = more_due or more_ended or #old == bound or #free == bound
return { promoted, recovered, #old, more and 1 or 0 }

-- Tries every command that the scripts use, on keys of its own that it removes again.
--
-- KEYS  1 a list  2 a hash  3 a sorted set  4 a string
-- ARGV  1 channel
-- Returns now, then what was refused and why, as `COMMAND: answer`.
local now = clock()
local list, hash, sorted, text = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local refused = {}

local function tried(command, ...)
  local answer = redis.pcall(command, ...)
  if type(answer) == 'table' and answer.err then
    refused[#refused + 1] = command .. ': ' .. answer.err
    return false
  end
  return true
end

-- What could not be removed again is not written.
if tried('DEL', list, hash, sorted, text) then
  tried('RPUSH', list, 'a', 'b')
  tried('LPUSH', list, 'c')
  tried('LINDEX', list, 0)
  tried('LLEN', list)
  tried('LRANGE', list, 0, 1)
  tried('LTRIM', list, 1, 1)
  tried('HSET', hash, 'a', 1)
  tried('HINCRBY', hash, 'a', 1)
  tried('HGET', hash, 'a')
  tried('HEXISTS', hash, 'a')
  tried('HLEN', hash)
  tried('HDEL', hash, 'a')
  tried('ZADD', sorted, 1, 'a', 2, 'b')
  tried('ZCARD', sorted)
  tried('ZCOUNT', sorted, '-inf', '+inf')
  tried('ZMSCORE', sorted, 'a')
  tried('ZRANGE', sorted, 0, 0)
  tried('ZRANGEBYLEX', sorted, '-', '+')
  tried('ZRANGEBYSCORE', sorted, '-inf', '+inf')
  tried('ZREM', sorted, 'a')
  tried('ZREMRANGEBYRANK', sorted, 0, 0)
  tried('SET', text, 'a', 'PX', 1000)
  tried('GET', text)
  tried('PUBLISH', ARGV[1], '')
  tried('DEL', list, hash, sorted, text)
end
return { now, refused }

-- Shared: promotion and recovery. Prepended to the scripts that do it.
--
-- How many of the first `bound` members are worth one go, so that large ones do not keep the server
-- from others. `first` is one of them.
local function portion(first, bound, bytes)
  return math.max(1, math.min(bound, math.floor(bytes / (#first + 1))))
end

-- Moves due jobs to the ready list. Answers how many, and whether there may be more.
local function promote(ready, scheduled, now, bound, bytes)
  local due = redis.call('ZRANGEBYSCORE', scheduled, '-inf', now, 'LIMIT', 0, 1)
  if #due == 0 then
    return 0, false
  end
  local most = portion(due[1], bound, bytes)
  if most > 1 then
    due = redis.call('ZRANGEBYSCORE', scheduled, '-inf', now, 'LIMIT', 0, most)
  end
  redis.call('RPUSH', ready, unpack(due))
  redis.call('ZREMRANGEBYRANK', scheduled, 0, #due - 1)
  return #due, #due == most
end

-- Takes back jobs whose lease has run out, the delivery counted. Answers as `promote` does.
local function recover(ready, running, leases, now, bound)
  local ended = redis.call('ZRANGEBYSCORE', leases, '-inf', now, 'WITHSCORES', 'LIMIT', 0, bound)
  local count = 0
  for i = 1, #ended, 2 do
    local member = ended[i]
    local record = redis.call('HGET', running, member)
    if record then
      -- What is no record any more goes on as it is: reserve.lua knows what to do with it.
      if #record >= 28 then
        local attempts = struct.unpack('>I4', record, 24)
        record = struct.pack('>BI6', string.byte(record, 1), tonumber(ended[i + 1]))
          .. string.sub(record, 8, 23) .. struct.pack('>I4', attempts + 1) .. string.sub(record, 28)
      end
      redis.call('RPUSH', ready, record)
      redis.call('HDEL', running, member)
      count = count + 1
    end
    redis.call('ZREM', leases, member)
  end
  return count, #ended == bound * 2
end

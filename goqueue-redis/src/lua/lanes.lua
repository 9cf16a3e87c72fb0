-- Shared: ordering keys. Prepended to the scripts that add a job with one or end it.
--
-- The hash `lanes` gives each ordering key that has a live job the number of its lane; its field ''
-- is the last number given. The first job of a lane lives like any other. Those behind it are
-- parked: members of the sorted set `parked`, scored by lane, that begin with a number (6 bytes) in
-- the order of their coming. `parked_due` has those of them that are not due yet, by due time.
local function place(ready, scheduled, record, due, now)
  if due > now then
    redis.call('ZADD', scheduled, due, record)
    return
  end
  -- It was due before what stands in front: its turn is now, not behind everything that came since.
  local head = redis.call('LINDEX', ready, 0)
  if head and #head >= 28 and struct.unpack('>I6', head, 2) > due then
    redis.call('LPUSH', ready, record)
  else
    redis.call('RPUSH', ready, record)
  end
end

-- Answers whether the job had to park.
local function join_lane(lanes, parked, parked_due, key, record, due, now)
  local lane = redis.call('HGET', lanes, key)
  local number = redis.call('HINCRBY', lanes, '', 1)
  if not lane then
    redis.call('HSET', lanes, key, number)
    return false
  end
  local member = struct.pack('>I6', number) .. record
  redis.call('ZADD', parked, lane, member)
  if due > now then
    redis.call('ZADD', parked_due, due, member)
  end
  return true
end

-- The first job of a lane has ended. The next one takes its place; when it does, its due time is
-- the answer.
local function leave_lane(lanes, parked, parked_due, ready, scheduled, key, now)
  local lane = redis.call('HGET', lanes, key)
  if not lane then
    return nil
  end
  local member = redis.call('ZRANGEBYSCORE', parked, lane, lane, 'LIMIT', 0, 1)[1]
  if not member then
    redis.call('HDEL', lanes, key)
    if redis.call('HLEN', lanes) == 1 then
      redis.call('DEL', lanes)
    end
    return nil
  end
  local record = string.sub(member, 7)
  local due = #record >= 28 and struct.unpack('>I6', record, 2) or now
  place(ready, scheduled, record, due, now)
  redis.call('ZREM', parked, member)
  redis.call('ZREM', parked_due, member)
  return due
end

-- Ends leases of one queue, each as its verdict says.
--
-- KEYS  1 running  2 leases, and, unless all are plain acks:
--       3 ready  4 scheduled  5 waiting  6 lanes  7 parked  8 parked_due  9 unique  10 holds
--       11 dead  12 dead_order  13 dead_age
-- ARGV  1 channel  2 number of plain acks (of jobs without a key), then their leases: id (16 bytes)
--       and token (8); then for each other lease four values: verdict, lease, and
--       'ack'      '', ''
--       'retry'    delay (milliseconds), the error with its length in front or ''
--       'release'  delay (milliseconds), ''
--       'dead'     '', the reason and the error, each with its length in front
-- Returns the positions, from 1, of those that are lost.
local running, leases = KEYS[1], KEYS[2]
local plain = tonumber(ARGV[2])
local lost = {}
local looks_again = #KEYS > 2 and waiting_until(KEYS[5])

-- As in reserve.lua: they change nothing, and let a server that is out of memory be emptied.
redis.call('HDEL', running, '')
redis.call('ZREM', leases, '')

if plain > 0 then
  if redis.call('ZREM', leases, unpack(ARGV, 3, plain + 2)) < plain then
    local seen = {}
    for i = 1, plain do
      local lease = ARGV[i + 2]
      if seen[lease] or redis.call('HEXISTS', running, lease) == 0 then
        lost[#lost + 1] = i
      end
      seen[lease] = true
    end
  end
  redis.call('HDEL', running, unpack(ARGV, 3, plain + 2))
end
if #KEYS == 2 then
  return lost
end

local ready, scheduled, waiting, lanes = KEYS[3], KEYS[4], KEYS[5], KEYS[6]
local parked, parked_due, unique, holds = KEYS[7], KEYS[8], KEYS[9], KEYS[10]
local dead, dead_order, dead_age = KEYS[11], KEYS[12], KEYS[13]
local channel = ARGV[1]
local now = clock()
local first_due = math.huge

-- What is written with one call for all: due times and records, records for the end and for the front
-- of the ready list.
local later, back, front = {}, {}, {}

-- Most jobs of a batch are due at the same time and have failed equally often, so what stands in their
-- records of that is written out once. Making a string costs Redis more than anything else here.
local due_in, text_of, head_of, count_of = {}, {}, {}, {}

-- When something is due after a delay, given as text, and the beginning of its record.
local function due_after(delay)
  local due = due_in[delay]
  if not due then
    local time = tonumber(delay)
    due = time > 0 and now + time + 1 or now
    due_in[delay], text_of[due] = due, string.format('%.0f', due)
    head_of[due] = struct.pack('>BI6', 1, due)
    first_due = math.min(first_due, due)
  end
  return due, head_of[due]
end

local function at_time(due, record)
  later[#later + 1], later[#later + 2] = text_of[due], record
end

local function counted(attempts, flags)
  local key = attempts * 8 + flags
  local text = count_of[key] or struct.pack('>I4B', attempts, flags)
  count_of[key] = text
  return text
end

local function finish(job)
  if job.unique then
    release_unique(unique, holds, job.unique, job.id, now)
  end
  if job.ordering then
    local due = leave_lane(lanes, parked, parked_due, ready, scheduled, job.ordering, now)
    first_due = math.min(first_due, due or math.huge)
  end
end

local verdicts = {
  ack = function(record)
    return split(record)
  end,
  retry = function(record, delay, error)
    local due, head = due_after(delay)
    local attempts, flags = struct.unpack('>I4B', record, 24)
    local keys, body = '', nil
    if flags == 0 then
      body = string.sub(record, 29)
    else
      local job = split(record)
      keys, body = job.keys, job.body
    end
    flags = flags % 4 + (error ~= '' and 4 or 0)
    record = head .. string.sub(record, 8, 23) .. counted(attempts + 1, flags) .. keys .. error .. body
    if due > now then
      at_time(due, record)
    else
      back[#back + 1] = record
    end
  end,
  release = function(record, delay)
    local due, head = due_after(delay)
    if due > now then
      at_time(due, head .. string.sub(record, 8))
    else
      front[#front + 1] = record
    end
  end,
  dead = function(record, _, why)
    local job = split(record)
    redis.call('HSET', dead, job.id, struct.pack('>BI4I6', 1, job.attempts + 1, now) .. why
      .. struct.pack('B', job.flags % 4) .. job.keys .. job.body)
    redis.call('ZADD', dead_order, 0, job.id)
    redis.call('ZADD', dead_age, now, job.id)
    return job
  end,
}

local members, taken, gone, ended = {}, {}, {}, {}
for i = plain + 3, #ARGV, 4 do
  members[#members + 1] = ARGV[i + 1]
end
local records = redis.call('HMGET', running, unpack(members))
for i, lease in ipairs(members) do
  local record = records[i]
  if record and not taken[lease] and is_record(record) then
    local at = plain + i * 4 - 1
    -- Answers the job if this is its end.
    ended[#ended + 1] = verdicts[ARGV[at]](record, ARGV[at + 2], ARGV[at + 3])
    taken[lease], gone[#gone + 1] = true, lease
  else
    lost[#lost + 1] = plain + i
  end
end

-- What adds comes before what removes: whatever stops the script, no job is lost.
if #later > 0 then
  redis.call('ZADD', scheduled, unpack(later))
end
if #back > 0 then
  redis.call('RPUSH', ready, unpack(back))
end
-- In front of the queue, and among themselves in the order they were given back.
for i = #front, 1, -1 do
  redis.call('LPUSH', ready, front[i])
end
if #gone > 0 then
  redis.call('HDEL', running, unpack(gone))
  redis.call('ZREM', leases, unpack(gone))
end
for _, job in ipairs(ended) do
  finish(job)
end
wake(waiting, channel, looks_again, first_due)
return lost

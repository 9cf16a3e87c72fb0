-- Shared: waking workers that wait. Prepended to the scripts that make jobs ready.
--
-- The key `waiting` is there while a worker waits; it holds the time, in milliseconds, at which the
-- first of them looks again by itself. Reading it comes before any write, so that a foreign value
-- at that key stops the call before it has done anything.
local function waiting_until(key)
  local text = redis.call('GET', key)
  return text and (tonumber(text) or math.huge)
end

-- A user who may not publish still enqueues: the workers then find the job by themselves.
local function wake(key, channel, looks_again, due)
  if looks_again and due < looks_again then
    redis.call('DEL', key)
    redis.pcall('PUBLISH', channel, '')
  end
end

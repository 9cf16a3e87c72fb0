-- Shared: the server's clock. Prepended to the scripts that need it.
--
-- Whole milliseconds, rounded down. What has to last at least some time therefore ends one
-- millisecond later than the sum says, so that nothing is ever early.
local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

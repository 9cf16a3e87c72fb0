-- Lists jobs that are due: the ready list, then those held by an earlier job of their ordering key.
-- Reads only.
--
-- KEYS  1 ready  2 parked
-- ARGV  1 position in the two together, from 0  2 most jobs  3 most bytes
-- Returns the position after the last job, or -1 when there are no more; the records, those held
-- with their number in front and a time in front of that (6 bytes each).
local from, most, bytes = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local now = clock()
local length = redis.call('LLEN', KEYS[1])
local parked = redis.call('ZCARD', KEYS[2])
local records, size = {}, 0
while from < length + parked and #records < most and size < bytes do
  local record
  if from < length then
    record = redis.call('LINDEX', KEYS[1], from)
  else
    record = redis.call('ZRANGE', KEYS[2], from - length, from - length)[1]
    local due = #record >= 34 and struct.unpack('>I6', record, 8) or 0
    record = due <= now and string.sub(record, 7)
  end
  if record then
    records[#records + 1] = record
    size = size + #record
  end
  from = from + 1
end
return { from < length + parked and from or -1, records }

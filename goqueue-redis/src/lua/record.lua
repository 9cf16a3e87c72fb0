-- Shared: the record of a job. Prepended to the scripts that look inside one.
--
--   1 byte   format, 1
--   6 bytes  when it is or was due, in milliseconds
--  16 bytes  the job's id
--   4 bytes  deliveries that have ended
--   1 byte   flags: 1 ordering key, 2 unique key, 4 last error
--   then, as the flags say, each with its length in front: ordering key (2), unique key (2),
--   last error (4); then the body. All numbers are big-endian.
local function is_record(record)
  local length = #record
  if length < 28 or string.byte(record, 1) ~= 1 then
    return false
  end
  local flags = string.byte(record, 28)
  if flags == 0 then
    return true
  end
  if flags > 7 then
    return false
  end
  -- Written out, since a job that has failed comes here at each step and a table would be made for it.
  local at = 29
  if flags % 2 == 1 then
    if length < at + 1 then
      return false
    end
    at = at + 2 + struct.unpack('>I2', record, at)
  end
  if flags % 4 > 1 then
    if length < at + 1 then
      return false
    end
    at = at + 2 + struct.unpack('>I2', record, at)
  end
  if flags > 3 then
    if length < at + 3 then
      return false
    end
    at = at + 4 + struct.unpack('>I4', record, at)
  end
  return length >= at - 1
end

-- The keys that begin at `at` for these flags, and where they end.
local function keys_in(text, flags, at)
  local ordering, unique, length
  if flags % 2 == 1 then
    length = struct.unpack('>I2', text, at)
    ordering = string.sub(text, at + 2, at + 1 + length)
    at = at + 2 + length
  end
  if math.floor(flags / 2) % 2 == 1 then
    length = struct.unpack('>I2', text, at)
    unique = string.sub(text, at + 2, at + 1 + length)
    at = at + 2 + length
  end
  return ordering, unique, at
end

local function split(record)
  local job = { id = string.sub(record, 8, 23) }
  job.attempts, job.flags = struct.unpack('>I4B', record, 24)
  local at
  job.ordering, job.unique, at = keys_in(record, job.flags, 29)
  job.keys = string.sub(record, 29, at - 1)
  if job.flags >= 4 then
    at = at + 4 + struct.unpack('>I4', record, at)
  end
  job.body = string.sub(record, at)
  return job
end

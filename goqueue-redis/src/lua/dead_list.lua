-- Lists dead letters by id. Reads only.
--
-- KEYS  1 dead  2 dead_order
-- ARGV  1 the id (16 bytes) to begin after, or ''  2 most letters  3 most bytes
-- Returns 1 when there are more, then id and letter of each.
local from, most, bytes = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local start = from == '' and '-' or '(' .. from
local ids = redis.call('ZRANGEBYLEX', KEYS[2], start, '+', 'LIMIT', 0, most + 1)
local found, size = { 0 }, 0
for i, id in ipairs(ids) do
  if i > most or size >= bytes then
    found[1] = 1
    break
  end
  local letter = redis.call('HGET', KEYS[1], id) or ''
  found[#found + 1] = id
  found[#found + 1] = letter
  size = size + #letter
end
return found

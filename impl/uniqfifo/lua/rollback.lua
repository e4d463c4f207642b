-- Turn a ZSET into a LIST in place, in leaving order: by score, then by the bytes.
-- KEYS     1: the queue
-- RETURNS  how many ids were moved: 0 for an absent key and for a LIST
-- ERRORS   WRONGTYPE for any other type; whatever the server refuses the commands below with.
--          The ZSET is untouched then.
-- FLOOR    Redis 2.8.17
-- COMMIT   DEL, which is refused without effect; what follows it was found to be permitted

local key = KEYS[1]

local found = redis.call('TYPE', key).ok
if found == 'none' or found == 'list' then
  return 0
elseif found ~= 'zset' then
  return redis.error_reply('WRONGTYPE expected a zset or a list, found a ' .. found)
end

-- On a ZSET, RPUSH answers WRONGTYPE exactly if this server understands it and permits it.
-- Anchored, since other refusals quote the user's name, and that may be WRONGTYPE.
local probe = redis.pcall('RPUSH', key, '')
local answer = type(probe) == 'table' and probe.err and tostring(probe.err) or ''
if string.find(answer, 'WRONGTYPE', 1, true) ~= 1 then
  return probe
end

local ids = redis.call('ZRANGE', key, 0, -1)
redis.call('DEL', key)

-- A few hundred arguments at a time: Lua cannot spread a long table.
for first = 1, #ids, 500 do
  redis.call('RPUSH', key, unpack(ids, first, math.min(first + 499, #ids)))
end
return #ids

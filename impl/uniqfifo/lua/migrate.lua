-- Turn a LIST into a ZSET in place, keeping the order and the first copy of each id.
-- KEYS     1: the queue
-- RETURNS  how many ids were moved: 0 for an absent key and for a ZSET
-- ERRORS   WRONGTYPE for any other type; whatever the server refuses the commands below with.
--          The LIST is untouched then.
-- FLOOR    Redis 3.2
-- COMMIT   DEL, which is refused without effect; what follows it was found to be permitted

local key = KEYS[1]

-- A server on which enqueue could not run afterwards has to refuse here, before the first write:
-- up to 3.0 a script may not write after TIME.
if redis.replicate_commands then
  redis.replicate_commands()
end
redis.call('TIME')

local found = redis.call('TYPE', key).ok
if found == 'none' or found == 'zset' then
  return 0
elseif found ~= 'list' then
  return redis.error_reply('WRONGTYPE expected a list or a zset, found a ' .. found)
end

-- On a LIST, ZADD answers WRONGTYPE exactly if this server understands it and permits it.
-- Anchored, since other refusals quote the user's name, and that may be WRONGTYPE.
local probe = redis.pcall('ZADD', key, 'NX', 1, '')
local answer = type(probe) == 'table' and probe.err and tostring(probe.err) or ''
if string.find(answer, 'WRONGTYPE', 1, true) ~= 1 then
  return probe
end

local ids = redis.call('LRANGE', key, 0, -1)
redis.call('DEL', key)

local moved, seen, batch = 0, {}, {}
for position, id in ipairs(ids) do
  if not seen[id] then
    seen[id] = true
    moved = moved + 1
    batch[#batch + 1] = position
    batch[#batch + 1] = id
  end
  -- A few hundred arguments at a time: Lua cannot spread a long table.
  if #batch == 1000 or (position == #ids and #batch > 0) then
    redis.call('ZADD', key, 'NX', unpack(batch))
    batch = {}
  end
end
return moved

-- Add an id to a ZSET, scored by the server's clock, unless it is pending.
-- KEYS     1: the queue
-- ARGV     1: the id
-- RETURNS  1 added, 0 already pending
-- ERRORS   WRONGTYPE; whatever the server refuses TIME or ZADD with. No effect then.
-- FLOOR    Redis 3.2
-- COMMIT   ZADD

-- From 3.2 to 4.0 a script may not write after TIME unless its effects are replicated.
if redis.replicate_commands then
  redis.replicate_commands()
end

local time = redis.call('TIME')
-- A number, never text: Lua's own conversion keeps 14 digits, Redis's keeps 17.
local now = time[1] * 1000000 + time[2]
return redis.call('ZADD', KEYS[1], 'NX', now, ARGV[1])

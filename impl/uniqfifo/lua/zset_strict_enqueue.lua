-- Add an id to a ZSET, scored by the server's clock but above all that is pending, unless it is.
-- KEYS     1: the queue
-- ARGV     1: the id
-- RETURNS  1 added, 0 already pending
-- ERRORS   SCORELIMIT when no exact score is left above the highest; WRONGTYPE; whatever the server
--          refuses TIME, ZREVRANGE or ZADD with. No effect then.
-- FLOOR    Redis 3.2
-- COMMIT   ZADD

-- From 3.2 to 4.0 a script may not write after TIME unless its effects are replicated.
if redis.replicate_commands then
  redis.replicate_commands()
end

local time = redis.call('TIME')
local score = time[1] * 1000000 + time[2]
local last = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if last[2] then
  -- A foreign writer may have left a fraction: rounded down, plus one, is still above it.
  score = math.max(score, math.floor(tonumber(last[2])) + 1)
end
-- Above 2^53 - 1 neighbouring whole numbers are one double, and two ids could tie.
if score > 9007199254740991 then
  return redis.error_reply('SCORELIMIT the highest score on this key leaves none above it')
end
return redis.call('ZADD', KEYS[1], 'NX', score, ARGV[1])

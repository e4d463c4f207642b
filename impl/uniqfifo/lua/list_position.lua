-- Find an id in a LIST.
-- KEYS     1: the queue
-- ARGV     1: the id
-- RETURNS  the 0-based place of the first copy, or nil
-- ERRORS   WRONGTYPE; whatever the server refuses LRANGE with
-- FLOOR    Redis 2.8.17 (LPOS would need 6.0.6)
-- COMMIT   none: reads only

for place, pending in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if pending == ARGV[1] then
    return place - 1
  end
end
return false

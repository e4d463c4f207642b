-- Tell by which policy the server may evict the queue when memory runs short.
-- KEYS     1: the queue: read it is not, it leads to its server
-- RETURNS  the policy's name; nil without a limit, without such a policy, and where INFO does not
--          tell (before Redis 3.2)
-- ERRORS   whatever the server refuses INFO with
-- FLOOR    Redis 2.8.17
-- COMMIT   none: reads only

local memory = redis.call('INFO', 'memory')
local limit = string.match(memory, '\nmaxmemory:(%d+)')
if limit and limit ~= '0' then
  -- The volatile policies take only keys with a time to live, and a queue has none.
  return string.match(memory, '\nmaxmemory_policy:(allkeys[%w-]*)') or false
end
return false

-- Take the id with the lowest score out of a ZSET.
-- KEYS     1: the queue
-- RETURNS  the id, or nil if nothing is pending
-- ERRORS   WRONGTYPE; whatever the server refuses ZRANGE or ZREM with. No effect then.
-- FLOOR    Redis 2.8.17
-- COMMIT   ZREM

local key = KEYS[1]
local first = redis.call('ZRANGE', key, 0, 0)[1]
if first then
  redis.call('ZREM', key, first)
  return first
end

-- A server that may not write (a replica, say) must not answer "nothing pending": its copy can be
-- behind. So this write, which changes nothing, is tried. Where it would still reach replicas as an
-- empty transaction, replication is switched off for it.
if redis.set_repl then
  if redis.replicate_commands then
    redis.replicate_commands()
  end
  redis.set_repl(redis.REPL_NONE)
end
redis.call('ZREM', key, '')
return false

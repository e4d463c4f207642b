-- Append an id to a LIST unless it is pending.
-- KEYS     1: the queue
-- ARGV     1: the id
-- RETURNS  1 added, 0 already pending
-- ERRORS   WRONGTYPE; whatever the server refuses LINSERT, RPUSH or LREM with. No effect then.
-- FLOOR    Redis 2.8.17
-- COMMIT   RPUSH if the id is new. If it is pending nothing changes: LREM takes back what LINSERT
--          put in, so it is asked beforehand whether LREM will be allowed.

local key, id = KEYS[1], ARGV[1]

-- Malformed calls show what well-formed ones would meet. LINSERT goes first: up to 6.2 the first
-- write of a script, even a failed one, is the last whose memory limit is checked.
local function refusal(reply, harmless)
  local text = type(reply) == 'table' and reply.err and tostring(reply.err)
  if not (text and string.find(text, harmless, 1, true)) then
    return reply
  end
end

if redis.acl_check_cmd then
  if not redis.acl_check_cmd('LREM', key, 1, id) then
    return redis.error_reply('NOPERM this user has no permissions to run the lrem command on this key')
  end
else
  local refused = refusal(redis.pcall('LINSERT', key, 'malformed', id, id), 'syntax error')
    or refusal(redis.pcall('LREM', key, 'malformed', id), 'not an integer')
  if refused then
    return refused
  end
end

if redis.call('LINSERT', key, 'BEFORE', id, id) <= 0 then
  redis.call('RPUSH', key, id)
  return 1
end
redis.call('LREM', key, 1, id)
return 0

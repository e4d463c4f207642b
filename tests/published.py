"""The two published designs' scripts, without the questions that ours ask before they write.

They are what our guards are compared with: in the same situation these lose, or leave something.
Written from the documents' words: "LRANGE → DEL → ZADD NX with scores 1..n (first occurrence
kept)"; "LINSERT/RPUSH/LREM … in one Lua EVAL"; "Lua ZRANGE 0 0 + ZREM"; "one Lua script, ZADD
KEYS[1] NX <Redis TIME µs> id".
"""

MIGRATE = """
if redis.call('TYPE', KEYS[1]).ok ~= 'list' then
  return 0
end
local seen, scored = {}, {}
for position, id in ipairs(redis.call('LRANGE', KEYS[1], 0, -1)) do
  if not seen[id] then
    seen[id] = true
    scored[#scored + 1] = position
    scored[#scored + 1] = id
  end
end
redis.call('DEL', KEYS[1])
return redis.call('ZADD', KEYS[1], 'NX', unpack(scored))
"""

LIST_ENQUEUE = """
if redis.call('LINSERT', KEYS[1], 'BEFORE', ARGV[1], ARGV[1]) <= 0 then
  redis.call('RPUSH', KEYS[1], ARGV[1])
  return 1
end
redis.call('LREM', KEYS[1], 1, ARGV[1])
return 0
"""

ZSET_DEQUEUE = """
local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
if first then
  redis.call('ZREM', KEYS[1], first)
end
return first
"""

ZSET_ENQUEUE = """
local time = redis.call('TIME')
return redis.call('ZADD', KEYS[1], 'NX', time[1] * 1000000 + time[2], ARGV[1])
"""

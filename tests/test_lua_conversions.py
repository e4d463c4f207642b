"""What Lua makes of replies, and clients of what Lua answers: where implementations went wrong."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import fakeredis
import pytest
import redis
import redis.asyncio

import uniqfifo.asyncio
from tests import wrong
from tests.conftest import FAKE
from tests.faults import ALL, RUN_ZSET, since, snapshot
from uniqfifo import NotExecuted, Reason, UniqueQueue, WrongKeyType, scripts
from uniqfifo_spec.conformance.bench import embedded
from uniqfifo_spec.conformance.oracle import Operation
from uniqfifo_spec.conformance.session import Call, Implementation, Put, Session
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.keyspace import List, Other, ZSet

pytestmark = pytest.mark.once

on_every_server = pytest.mark.servers(FAKE, *ALL)
STORAGES = ("list", "zset", "zset-strict")


# --- TYPE in a script is a table with the field ok


def put_each_type(client: redis.Redis, prefix: str) -> dict[str, str]:
    """A key of each type, by what TYPE calls it."""
    keys = {kind: f"{prefix}-{kind}" for kind in ("list", "zset", "none", "string")}
    client.rpush(keys["list"], "a")
    client.zadd(keys["zset"], {"a": 1})
    client.set(keys["string"], "a")
    return keys


@on_every_server
def test_type_in_a_script_is_a_table(client: redis.Redis, prefix: str) -> None:
    """B17, redis/redis#11413."""
    told = "local found = redis.call('TYPE', KEYS[1]); return {type(found), found.ok}"
    for kind, key in put_each_type(client, prefix).items():
        assert client.eval(told, 1, key) == [b"table", kind.encode()]


@pytest.mark.servers(FAKE, *RUN_ZSET)
def test_migrate_tells_the_types_apart(client: redis.Redis, prefix: str) -> None:
    """B17, redis/redis#11413."""
    keys = put_each_type(client, prefix)
    before = {kind: snapshot(client, key) for kind, key in keys.items()}
    moved = {kind: UniqueQueue(client, keys[kind]).migrate() for kind in ("list", "zset", "none")}
    assert moved == {"list": 1, "zset": 0, "none": 0}
    with pytest.raises(WrongKeyType):
        UniqueQueue(client, keys["string"]).migrate()
    changed = {kind for kind, key in keys.items() if snapshot(client, key) != before[kind]}
    assert changed == {"list"}


GUARD = "if found == 'none' or found == 'zset' then"
MISREAD = {
    "is never list": (GUARD, "if redis.call('TYPE', key) ~= 'list' then"),
    "has no length": (GUARD, "if #redis.call('TYPE', key) == 0 then"),
    "is never zset": ("redis.call('TYPE', key).ok", "redis.call('TYPE', key)"),
}


def problems(migrate: str) -> set[str]:
    """The clauses that are broken by a host with this script, when it starts on each type."""
    host = type("Edited", (wrong.Host,), {"migrate": migrate})
    broken = set()
    for value in (List((b"a",)), ZSet(((1, b"a"),)), Other("string"), None):
        with (
            embedded() as bench,
            Session(bench, Implementation("edited", host, "", ("zset",))) as session,
        ):
            session.do(Put("workflow", value))
            judged = session.do(Call("zset", Operation("start")))
        broken |= {each.clause for each in judged if each.problem}
    return broken


@pytest.mark.parametrize("name", MISREAD)
def test_a_guard_that_takes_the_type_for_text_is_caught(name: str) -> None:
    """B17, redis/redis#11413."""
    right, misread = MISREAD[name]
    assert right in scripts.MIGRATE.text
    assert problems(scripts.MIGRATE.text.replace(right, misread)) >= {"MIG-1"}
    assert problems(scripts.MIGRATE.text) == set()


# --- An absent reply is false; nil cuts an answer short; 0 and '' are true


@on_every_server
def test_an_absent_reply_is_false_and_an_empty_range_a_table(
    client: redis.Redis, prefix: str
) -> None:
    """B18, Bogdanp/dramatiq#320."""
    told = """
    local popped, range = redis.call('LPOP', KEYS[1]), redis.call('ZRANGE', KEYS[1], 0, 0)
    return {type(popped), type(range), #range, tostring(popped == nil), tostring(range[1] == nil)}
    """
    assert client.eval(told, 1, prefix) == [b"boolean", b"table", 0, b"false", b"true"]


@pytest.mark.servers(FAKE, *RUN_ZSET)
def test_a_script_that_expects_nil_goes_on_with_false(client: redis.Redis, prefix: str) -> None:
    """B18, Bogdanp/dramatiq#320: what was reported."""
    moves = """
    local id = redis.call('LPOP', KEYS[1])
    if id ~= nil then
      redis.call('RPUSH', KEYS[2], id)
    end
    """
    with pytest.raises(redis.ResponseError, match="arguments must be strings or integers"):
        client.eval(moves, 2, prefix, f"{prefix}-to")


@on_every_server
def test_nil_cuts_an_answer_short(client: redis.Redis, prefix: str) -> None:
    """B18, Bogdanp/dramatiq#320. So no script of ours answers with an array."""
    assert client.eval("return {1, nil, 3}", 1, prefix) == [1]


@on_every_server
@pytest.mark.parametrize("storage", STORAGES)
def test_nothing_and_the_head_and_the_empty_id_are_told_apart(
    client: redis.Redis, prefix: str, storage: str
) -> None:
    """B18, Bogdanp/dramatiq#320: '' and 0 are true in Lua, and false in Python."""
    queue = UniqueQueue(client, prefix, storage)
    assert (queue.dequeue(), queue.position("a"), queue.peek(2)) == (None, None, [])
    if storage == "list":
        client.rpush(prefix, "", "a")
    else:
        client.zadd(prefix, {"": 1, "a": 2})
    assert (queue.size(), queue.peek(2), queue.position("b")) == (2, ["", "a"], None)
    assert queue.dequeue() == ""
    assert (queue.position("a"), queue.contains("a")) == (0, True)
    assert [queue.dequeue(), queue.dequeue()] == ["a", None]


# --- The client's protocol does not show

PROTOCOLS = {"unset": {}, "RESP2": {"protocol": 2}, "RESP3": {"protocol": 3}}
FUTURE = 4_400_000_000_000_000


class Awaited:
    """An asyncio queue behind plain methods."""

    def __init__(self, runner: asyncio.Runner, queue: Any) -> None:
        self._runner = runner
        self._queue = queue

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._queue, name)

        async def call(*arguments: Any) -> Any:
            return await method(*arguments)

        return lambda *arguments: self._runner.run(call(*arguments))


@contextmanager
def opened(kind: str, key: str, storage: str, make: Callable[[str], Any]) -> Iterator[Any]:
    """A queue on the client that `make` makes, sync or asyncio."""
    client = make(kind)
    if kind == "sync":
        yield UniqueQueue(client, key, storage)
        client.close()
        return
    with asyncio.Runner() as runner:
        yield Awaited(runner, uniqfifo.asyncio.UniqueQueue(client, key, storage))
        runner.run(client.aclose())


def exercise(queue: Any, judge: redis.Redis, key: str, storage: str) -> None:
    """Every script and every direct read, each with every form of its answer."""
    assert (queue.dequeue(), queue.size(), queue.position("a"), queue.peek(9)) == (
        None,
        0,
        None,
        [],
    )
    assert [queue.enqueue(id) for id in ("b", "a", "b")] == [True, True, False]
    if storage == "zset-strict":
        assert queue.remove("a")
        judge.execute_command("ZADD", key, FUTURE, "b")
        assert queue.enqueue("a")
        assert int(judge.zscore(key, "a")) == FUTURE + 1
    assert (queue.size(), queue.peek(9), queue.peek(0)) == (2, ["b", "a"], [])
    assert [queue.position(id) for id in ("b", "a", "c")] == [0, 1, None]
    assert [queue.contains(id) for id in ("b", "c")] == [True, False]
    assert [queue.remove("b"), queue.remove("b")] == [True, False]
    assert [queue.dequeue(), queue.dequeue()] == ["a", None]
    if storage != "list":
        judge.rpush(key, "y", "x", "y")
        with pytest.raises(WrongKeyType) as wrong_type:
            queue.dequeue()
        assert wrong_type.value.found == "list"
        assert [queue.migrate(), queue.migrate(), queue.peek(9)] == [2, 0, ["y", "x"]]
    judge.delete(key)
    assert queue.make_ready() is None
    judge.set(key, "text")
    with pytest.raises(WrongKeyType) as wrong_type:
        queue.make_ready()
    assert wrong_type.value.found == "string"


def default_protocol() -> int:
    """What this redis-py speaks if it is not told."""
    return int(getattr(redis.connection, "DEFAULT_RESP_VERSION", 2))


@pytest.mark.servers(*RUN_ZSET)
@pytest.mark.parametrize("kind", ["sync", "asyncio"])
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_call_answers_the_same_in_each_protocol(
    server: Server, client: redis.Redis, prefix: str, server_name: str, protocol: str, kind: str
) -> None:
    """B32, cunla/fakeredis-py#543. Servers before 6.0 do not know RESP3, and say so."""

    def make(kind: str) -> Any:
        module: Any = redis.asyncio if kind == "asyncio" else redis
        return module.Redis(host="127.0.0.1", port=server.port, **PROTOCOLS[protocol])

    wanted = PROTOCOLS[protocol].get("protocol", default_protocol())
    for storage in STORAGES:
        key = f"{prefix}-{storage}"
        with opened(kind, key, storage, make) as queue:
            if wanted == 2 or server_name in since("6.0"):
                exercise(queue, client, key, storage)
            else:
                with pytest.raises(NotExecuted) as refused:
                    queue.dequeue()
                assert refused.value.reason is Reason.UNSUPPORTED_SERVER


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
@pytest.mark.parametrize("storage", STORAGES)
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_call_answers_the_same_on_the_fake(protocol: str, storage: str, kind: str) -> None:
    """B32, cunla/fakeredis-py#543."""
    server = fakeredis.FakeServer()

    def make(kind: str) -> Any:
        fake: Any = fakeredis.FakeAsyncRedis if kind == "asyncio" else fakeredis.FakeRedis
        return fake(server=server, **PROTOCOLS[protocol])

    with opened(kind, "queue", storage, make) as queue:
        exercise(queue, fakeredis.FakeRedis(server=server), "queue", storage)

"""ZSET to LIST in place: what the model says, whatever the key holds, and at any length."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import replace

import fakeredis
import pytest
import redis

import uniqfifo.asyncio
from tests.conftest import FAKE
from tests.faults import ALL, HAVE_ACL, RUN_ZSET, snapshot, user
from tests.test_migration import ENCODED_DIFFERENTLY, is_in_order, put, shuffled
from uniqfifo import Storage, UniqueQueue, WrongKeyType, scripts
from uniqfifo_spec.commands import WRONGTYPE
from uniqfifo_spec.conformance.bench import Bench, Seen
from uniqfifo_spec.conformance.scope import HOSTILE, lists, zsets
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.designs import LIST, ZSET, Design, Program, atomic, migrate, roll_back, run
from uniqfifo_spec.explore import PROPERTIES, START, Configuration, explore, free
from uniqfifo_spec.explore.scenarios import MIGRATED
from uniqfifo_spec.keyspace import List, Other, Value, ZSet, kind, pending

pytestmark = pytest.mark.once

on_every_server = pytest.mark.servers(FAKE, *ALL)
LENGTHS = (1, 499, 500, 501, 1_001, 8_000)


def values() -> Iterator[Value]:
    """Every value of the small scope, and a few with ids that are hard to carry."""
    yield None
    yield from lists()
    yield from zsets(at_clock=False)
    yield from map(Other, ("string", "hash", "set"))
    for id in (*HOSTILE, b""):
        yield ZSet(((0.5, id),))
        yield ZSet(((float("-inf"), b"z"), (-1, id), (float("inf"), b"a")))


# --- The model


def modelled(value: Value) -> tuple[object, Value]:
    answer, (after,) = run(roll_back(), (value,), now=0)
    return answer, after


def test_the_model_keeps_every_id_and_the_order() -> None:
    for value in values():
        answer, after = modelled(value)
        if isinstance(value, Other):
            assert (answer, after) == (WRONGTYPE, value)
        else:
            assert answer is None
            assert pending(after) == pending(value)
            assert kind(after) in ("none", "list")


def test_in_the_model_there_and_back_is_as_before() -> None:
    for value in lists():
        _, there = run(migrate(), (value,), now=0)
        _, (back,) = run(roll_back(), there, now=0)
        assert back == List(tuple(dict.fromkeys(pending(value))))


def beside_a_zset_host(start: Callable[..., Program]) -> dict[str, str]:
    """What the explorer says of a host that begins with this, while another speaks ZSET."""
    back: Design = replace(LIST, name="back", start=start)
    calls = ((START, *free(2)), free(3))
    report = explore(Configuration((back, ZSET), calls, initial=MIGRATED), (*PROPERTIES,))
    return {name: verdict.outcome for name, verdict in report.verdicts.items()}


def test_hosts_that_were_not_stopped_are_wedged_and_lose_nothing() -> None:
    found = beside_a_zset_host(atomic(roll_back))
    assert found == {**dict.fromkeys(PROPERTIES, "PROVED"), "never-wedged": "REFUTED"}


def test_as_separate_commands_they_would_lose() -> None:
    assert beside_a_zset_host(roll_back)["nothing-lost"] == "REFUTED"


# --- The script and the model


def differences(client: redis.Redis, key: str, go_back: Callable[[], int]) -> Iterator[str]:
    """Where `go_back` and the model part, over every value."""
    bench = Bench(client, client, "")
    for value in values():
        answer, expected = modelled(value)
        moved = len(pending(value)) if isinstance(value, ZSet) else 0
        bench.put(key, value)
        try:
            got: object = go_back()
        except (WrongKeyType, redis.ResponseError):
            got = WRONGTYPE
        if got != (moved if answer is None else answer) or bench.seen(key) != [Seen(expected)]:
            yield f"{value}: {got}, {bench.seen(key)}"


@on_every_server
def test_from_every_value_it_does_what_the_model_does(client: redis.Redis, prefix: str) -> None:
    queue = UniqueQueue(client, prefix, "list")
    assert [*differences(client, prefix, queue.roll_back)] == []


WRONG = {
    "reversed": ("'ZRANGE'", "'ZREVRANGE'"),
    "the first is lost": ("first = 1", "first = 2"),
    "a list is refused": ("or found == 'list'", ""),
    "a string is nothing to do": ("found == 'none' or found == 'list'", "found ~= 'zset'"),
    "DEL is forgotten": ("redis.call('DEL', key)", ""),
    "says nothing": ("return #ids", "return 0"),
    "in the order of the bytes": (
        "redis.call('DEL', key)",
        "table.sort(ids) redis.call('DEL', key)",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_script_that_does_otherwise_is_caught(name: str) -> None:
    right, mistake = WRONG[name]
    assert right in scripts.ROLLBACK.text
    text = scripts.ROLLBACK.text.replace(right, mistake)
    client = fakeredis.FakeRedis()

    def go_back() -> int:
        return int(client.eval(text, 1, "key"))

    assert [*differences(client, "key", go_back)] != []


@on_every_server
@pytest.mark.parametrize("length", LENGTHS)
def test_any_length_is_carried(client: redis.Redis, prefix: str, length: int) -> None:
    ids = shuffled(length)
    for first in range(0, length, 1_000):
        some = enumerate(ids[first : first + 1_000], start=first)
        client.zadd(prefix, {id: score for score, id in some})
    assert UniqueQueue(client, prefix, "list").roll_back() == length
    assert client.lrange(prefix, 0, -1) == ids


@pytest.mark.servers(FAKE, *RUN_ZSET)
def test_there_and_back_and_there_again(client: redis.Redis, prefix: str) -> None:
    ids = shuffled(100_000)
    put(client, prefix, ids)
    assert UniqueQueue(client, prefix).migrate() == len(ids)
    assert UniqueQueue(client, prefix, "list").roll_back() == len(ids)
    assert client.lrange(prefix, 0, -1) == ids
    assert UniqueQueue(client, prefix).migrate() == len(ids)
    assert is_in_order(client, prefix, ids)


@pytest.mark.servers("valkey-9.1")
def test_a_million_ids_come_back_in_order(server: Server, prefix: str) -> None:
    with server.client(socket_timeout=60) as client:
        ids = shuffled(1_000_000)
        put(client, prefix, ids)
        UniqueQueue(client, prefix).migrate()
        assert UniqueQueue(client, prefix, "list").roll_back() == len(ids)
        assert client.lrange(prefix, 0, -1) == ids


@on_every_server
@pytest.mark.parametrize("which", ENCODED_DIFFERENTLY)
def test_ids_survive_whatever_their_encoding(client: redis.Redis, prefix: str, which: str) -> None:
    ids = ENCODED_DIFFERENTLY[which]
    client.zadd(prefix, {id: score for score, id in enumerate(ids)})
    assert UniqueQueue(client, prefix, "list").roll_back() == len(ids)
    assert client.lrange(prefix, 0, -1) == ids


# --- What goes with it


@on_every_server
def test_a_time_to_live_is_dropped(client: redis.Redis, prefix: str) -> None:
    client.zadd(prefix, {"a": 1})
    client.expire(prefix, 1_000)
    UniqueQueue(client, prefix, "list").roll_back()
    assert client.ttl(prefix) == -1


@on_every_server
def test_what_is_left_as_it_is_keeps_its_time_to_live(client: redis.Redis, prefix: str) -> None:
    client.rpush(f"{prefix}-list", "b", "a", "b")
    client.set(f"{prefix}-string", "text")
    for key in (f"{prefix}-list", f"{prefix}-string"):
        client.expire(key, 1_000)
    before = [snapshot(client, f"{prefix}-{each}") for each in ("list", "string")]
    assert UniqueQueue(client, f"{prefix}-list", "list").roll_back() == 0
    with pytest.raises(WrongKeyType) as refused:
        UniqueQueue(client, f"{prefix}-string", "list").roll_back()
    assert (refused.value.found, refused.value.expected) == ("string", "list")
    assert [snapshot(client, f"{prefix}-{each}") for each in ("list", "string")] == before


@pytest.mark.servers(FAKE, *RUN_ZSET)
def test_afterwards_list_hosts_work_and_zset_hosts_are_told(
    client: redis.Redis, prefix: str
) -> None:
    old, new = UniqueQueue(client, prefix), UniqueQueue(client, prefix, "list")
    for id in ("z", "a", "m"):
        old.enqueue(id)
    with pytest.raises(WrongKeyType, match=r"or roll_back\(\)"):
        new.enqueue("b")
    assert new.roll_back() == 3
    for call in (old.dequeue, lambda: old.enqueue("b")):
        with pytest.raises(WrongKeyType, match="turns the LIST into a ZSET"):
            call()
    assert [new.enqueue(id) for id in ("a", "b")] == [False, True]
    assert [new.dequeue() for _ in range(5)] == ["z", "a", "m", "b", None]


@pytest.mark.parametrize("storage", [Storage.ZSET, Storage.ZSET_STRICT])
def test_a_zset_queue_is_not_rolled_back_under_its_own_feet(storage: Storage) -> None:
    with pytest.raises(ValueError, match="choose the storage list"):
        UniqueQueue(fakeredis.FakeRedis(), "key", storage).roll_back()


def test_the_asyncio_twin_does_the_same() -> None:
    async def go_back() -> list[object]:
        client = fakeredis.FakeAsyncRedis()
        await client.zadd("key", {"b": 1, "a": 2})
        queue = uniqfifo.asyncio.UniqueQueue(client, "key", "list")
        return [await queue.roll_back(), await queue.roll_back(), await queue.dequeue()]

    assert asyncio.run(go_back()) == [2, 0, "b"]


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("without", [None, "type", "rpush", "zrange", "del"])
def test_these_permissions_are_enough_and_each_is_needed(
    server: Server, client: redis.Redis, prefix: str, without: str | None
) -> None:
    client.zadd(prefix, {"a": 1})
    needed = {"eval", "evalsha", "type", "rpush", "zrange", "del"} - {without}
    with user(server, "worker", "-@all", *(f"+{command}" for command in needed)) as limited:
        queue = UniqueQueue(limited, prefix, "list")
        if without is None:
            assert queue.roll_back() == 1
        else:
            with pytest.raises(uniqfifo.NotExecuted):
                queue.roll_back()

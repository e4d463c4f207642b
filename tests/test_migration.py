"""LIST to ZSET in place: whatever the length, order is kept and each id is there once."""

from __future__ import annotations

import random
import threading
from collections.abc import Sequence

import pytest
import redis

from tests import published
from tests.conftest import FAKE
from tests.faults import RUN_ZSET, snapshot
from uniqfifo import RedisQueueProvider, StartRefused, UniqueQueue, WrongKeyType, scripts
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once

on_every_server = pytest.mark.servers(FAKE, *RUN_ZSET)
LENGTHS = (1, 3_999, 4_000, 7_999, 8_000, 9_000, 100_000)


def shuffled(count: int) -> list[bytes]:
    """Distinct ids whose order is neither that of their bytes nor that of numbers."""
    ids = [b"%d" % number for number in range(count)]
    random.Random(count).shuffle(ids)
    return ids


def put(client: redis.Redis, key: str, ids: Sequence[bytes]) -> None:
    for first in range(0, len(ids), 10_000):
        client.rpush(key, *ids[first : first + 10_000])


def scored(client: redis.Redis, key: str) -> list[tuple[bytes, float]]:
    entries: list[tuple[bytes, float]] = client.zrange(key, 0, -1, withscores=True)
    return entries


def is_in_order(client: redis.Redis, key: str, ids: Sequence[bytes]) -> bool:
    """Are these the ids of the key in leaving order, scored from 1 on? Quick at any length."""
    entries = "redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')"
    found = client.eval(f"return table.concat({entries}, ' ')", 1, key)
    return bool(found == b" ".join(b"%s %d" % (id, n) for n, id in enumerate(ids, start=1)))


@on_every_server
@pytest.mark.parametrize("length", LENGTHS)
def test_order_is_kept_at_any_length(client: redis.Redis, prefix: str, length: int) -> None:
    """B03, Bogdanp/dramatiq#258."""
    ids = shuffled(length)
    put(client, prefix, ids)
    assert UniqueQueue(client, prefix).migrate() == length
    assert is_in_order(client, prefix, ids)


@on_every_server
def test_that_check_notices_two_neighbours_that_changed_places(
    client: redis.Redis, prefix: str
) -> None:
    ids = shuffled(9_000)
    put(client, prefix, ids)
    UniqueQueue(client, prefix).migrate()
    ids[4_000:4_002] = reversed(ids[4_000:4_002])
    assert not is_in_order(client, prefix, ids)


@on_every_server
def test_the_published_script_loses_a_long_queue(client: redis.Redis, prefix: str) -> None:
    """B03, Bogdanp/dramatiq#258: DEL, and then Lua cannot spread 18,000 values."""
    put(client, prefix, shuffled(9_000))
    with pytest.raises(redis.ResponseError, match="too many results to unpack"):
        client.eval(published.MIGRATE, 1, prefix)
    assert not client.exists(prefix)


@pytest.mark.servers("redis-7.0")
def test_a_million_ids_keep_their_order(server: Server, prefix: str) -> None:
    with server.client(socket_timeout=60) as client:
        ids = shuffled(1_000_000)
        put(client, prefix, ids)
        assert UniqueQueue(client, prefix).migrate() == len(ids)
        assert is_in_order(client, prefix, ids)


@on_every_server
def test_the_first_copy_of_each_id_is_kept(client: redis.Redis, prefix: str) -> None:
    """B26, danielgerlag/workflow-core#698: a queue of repeats, in chunks that share ids."""
    ids = [b"x", b"y", b"x", *shuffled(2_000), b"y", *reversed(shuffled(2_000)), b"last"]
    put(client, prefix, ids)
    first = {id: ids.index(id) + 1 for id in set(ids)}
    assert UniqueQueue(client, prefix).migrate() == len(first) == 2_003
    assert dict(scored(client, prefix)) == first


@on_every_server
def test_ids_enqueued_afterwards_leave_after_the_migrated_ones(
    client: redis.Redis, prefix: str
) -> None:
    put(client, prefix, [b"z", b"m"])
    queue = UniqueQueue(client, prefix)
    queue.migrate()
    assert [queue.enqueue(id) for id in ("m", "a")] == [False, True]
    assert [queue.dequeue() for _ in range(4)] == ["z", "m", "a", None]


ENCODED_DIFFERENTLY = {
    "numbers": [b"3", b"1", b"-2", b"9223372036854775807", b"007"],
    "short texts": [b"z", b"a", b"m"],
    "longer than 64 bytes": [b"z" * 65, b"a" * 65],
    "64 KiB": [b"z" * 65_536, b"a"],
    "more than 128": shuffled(129),
    "more than 512": shuffled(513),
    "not UTF-8": [b"\xff\xfe", b"\x00", b"a\r\nb", b""],
}


@on_every_server
@pytest.mark.parametrize("which", ENCODED_DIFFERENTLY)
def test_ids_survive_whatever_their_encoding(client: redis.Redis, prefix: str, which: str) -> None:
    ids = ENCODED_DIFFERENTLY[which]
    put(client, prefix, ids)
    UniqueQueue(client, prefix).migrate()
    assert scored(client, prefix) == [(id, place) for place, id in enumerate(ids, start=1)]


@pytest.mark.servers(*RUN_ZSET)
def test_those_ids_meet_compact_and_large_encodings(client: redis.Redis, prefix: str) -> None:
    """Else the test above would say less than it seems to."""
    before, after = set(), set()
    for which, ids in ENCODED_DIFFERENTLY.items():
        key = f"{prefix}-{which}"
        put(client, key, ids)
        before.add(client.object("encoding", key))
        UniqueQueue(client, key).migrate()
        after.add(client.object("encoding", key))
    assert b"quicklist" in before
    assert b"skiplist" in after and len(after) == 2


@on_every_server
def test_running_it_again_changes_nothing(client: redis.Redis, prefix: str) -> None:
    put(client, prefix, shuffled(1_000))
    queue = UniqueQueue(client, prefix)
    assert queue.migrate() == 1_000
    queue.enqueue("later")
    before = snapshot(client, prefix)
    assert queue.migrate() == 0
    assert snapshot(client, prefix) == before


@on_every_server
def test_an_absent_key_and_a_zset_are_left_as_they_are(client: redis.Redis, prefix: str) -> None:
    """B17, redis/redis#11413: the guard on the type must let these two pass."""
    assert UniqueQueue(client, f"{prefix}-absent").migrate() == 0
    assert not client.exists(f"{prefix}-absent")
    client.zadd(prefix, {"old": 0.5, "new": 2e15})
    client.expire(prefix, 1_000)
    before = snapshot(client, prefix)
    assert UniqueQueue(client, prefix).migrate() == 0
    assert snapshot(client, prefix) == before


@on_every_server
def test_another_type_is_refused_and_left_as_it_is(client: redis.Redis, prefix: str) -> None:
    """B15, sidekiq-scheduler/sidekiq-scheduler#216."""
    client.set(f"{prefix}-workflows", "text")
    client.sadd(f"{prefix}-events", "member")
    client.hset(f"{prefix}-index", "field", "value")
    keys = [f"{prefix}-workflows", f"{prefix}-events", f"{prefix}-index"]
    before = [snapshot(client, key) for key in keys]
    with pytest.raises(StartRefused) as refused:
        RedisQueueProvider(client, prefix).start()
    assert [snapshot(client, key) for key in keys] == before
    errors = refused.value.errors
    assert list(errors) == keys
    assert all(
        isinstance(error, WrongKeyType) and key in str(error) for key, error in errors.items()
    )
    assert [getattr(error, "found", "") for error in errors.values()] == ["string", "set", "hash"]


@on_every_server
def test_a_time_to_live_is_dropped(client: redis.Redis, prefix: str) -> None:
    put(client, prefix, [b"a"])
    client.expire(prefix, 1_000)
    UniqueQueue(client, prefix).migrate()
    assert client.ttl(prefix) == -1


@pytest.mark.servers(*RUN_ZSET)
def test_twenty_hosts_may_start_at_once(server: Server, client: redis.Redis, prefix: str) -> None:
    """B15, sidekiq-scheduler/sidekiq-scheduler#216: nobody has to be first."""
    ids = shuffled(1_000)
    keys = [f"{prefix}-workflows", f"{prefix}-events", f"{prefix}-index"]
    for key in keys:
        put(client, key, ids)
    together, failures = threading.Barrier(20), []

    def start() -> None:
        provider = RedisQueueProvider(server.url, prefix)
        try:
            together.wait(20)
            provider.start()
        except Exception as error:
            failures.append(error)
        finally:
            provider.stop()

    hosts = [threading.Thread(target=start) for _ in range(20)]
    for host in hosts:
        host.start()
    for host in hosts:
        host.join()
    assert failures == []
    for key in keys:
        assert scored(client, key) == [(id, place) for place, id in enumerate(ids, start=1)]


@on_every_server
def test_a_lost_script_cache_does_not_show(client: redis.Redis, prefix: str) -> None:
    put(client, prefix, [b"a", b"b"])
    client.script_flush()
    assert not any(client.script_exists(scripts.MIGRATE.sha))
    assert UniqueQueue(client, prefix).migrate() == 2

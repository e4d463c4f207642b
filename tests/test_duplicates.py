"""Duplicates neither appear nor grow, and what a scan costs is bounded.

Covers B26 (danielgerlag/workflow-core#698, #1058, #1417): duplicates pile up and enqueue slows.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import redis

from uniqfifo import Storage, UniqueQueue
from uniqfifo_spec.conformance.spawn import Server

CALLS = 200


@pytest.mark.parametrize("storage", Storage)
def test_many_enqueues_of_one_id_at_once_leave_one(
    server: Server, prefix: str, storage: Storage
) -> None:
    queue = UniqueQueue(server.client(), prefix, storage)
    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(lambda _: queue.enqueue("x"), range(CALLS)))
    assert answers.count(True) == 1
    assert queue.peek(9) == ["x"]


def test_the_same_with_separate_commands_leaves_more(server: Server, prefix: str) -> None:
    """The old form: every client asks before any appends."""
    clients = [server.client() for _ in range(3)]
    missed = [client.linsert(prefix, "BEFORE", "x", "x") <= 0 for client in clients]
    for client in clients:
        client.rpush(prefix, "x")
    assert missed == [True] * 3
    assert server.client().lrange(prefix, 0, -1) == [b"x"] * 3


def test_duplicates_of_legacy_hosts_neither_grow_nor_move(client: redis.Redis, prefix: str) -> None:
    client.rpush(prefix, "x", "y", "x")
    queue = UniqueQueue(client, prefix, Storage.LIST)
    assert not queue.enqueue("x") and not queue.enqueue("y")
    assert client.lrange(prefix, 0, -1) == [b"x", b"y", b"x"]
    assert [queue.dequeue() for _ in range(4)] == ["x", "y", "x", None]


@pytest.mark.servers("redis-5.0", "redis-7.0", "redis-8.2", "valkey-9.1")
@pytest.mark.parametrize(("storage", "commands"), [(Storage.LIST, 4), (Storage.ZSET, 2)])
def test_an_enqueue_costs_the_same_few_commands_however_long_the_queue_is(
    server: Server, prefix: str, storage: Storage, commands: int
) -> None:
    """A LIST is scanned inside two of them, never in a loop of the script's or the client's own."""
    client = server.client()
    queue = UniqueQueue(client, prefix, storage)
    ids = [f"{number:05}" for number in range(10_000)]
    if storage is Storage.LIST:
        client.rpush(prefix, *ids)
    else:
        client.zadd(prefix, {id: score for score, id in enumerate(ids)})
    queue.contains("warm")
    for id in (ids[0], ids[-1], "new"):
        before = _commands(client)
        queue.enqueue(id)
        assert _commands(client) - before <= commands + 2  # the call itself, and the one INFO


def _commands(client: redis.Redis) -> int:
    return sum(each["calls"] for each in client.info("commandstats").values())

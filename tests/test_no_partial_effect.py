"""A refused call leaves the key as it was, and a server that may not write never says "nothing".

Where a guard of a script is tested, the published script shows what happens without it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product

import pytest
import redis

from tests import published
from tests.faults import (
    ALL,
    HAVE_ACL,
    HOSTILE_USERS,
    RUN_ZSET,
    await_copy,
    memory_limit,
    refused,
    since,
    snapshot,
    start_replica,
    user,
)
from uniqfifo import Reason, UniqueQueue, scripts
from uniqfifo_spec.conformance.spawn import Server

IDS = ("new", "head", "middle", "tail")
PENDING = IDS[1:]
ZSETS = ("zset", "zset-strict")
STORAGES = ("list", *ZSETS)
WITHOUT_ACL_CHECK = since("2.8", before="7.0")
EMPTY_TRANSACTION = since("3.2", before="7.0")


def put(client: redis.Redis, key: str, storage: str = "list") -> None:
    """Pending ids, and for a LIST one copy too many of them, as legacy hosts leave it."""
    if storage == "list":
        client.rpush(key, *PENDING, "head")
    else:
        client.zadd(key, {id: score for score, id in enumerate(PENDING, start=1)})
    client.expire(key, 10_000)


def enqueueing(server_name: str) -> tuple[str, ...]:
    """The storages in which this server can enqueue."""
    return STORAGES if server_name in RUN_ZSET else STORAGES[:1]


def copies(client: redis.Redis, key: str, id: str) -> int:
    ids: list[bytes] = client.lrange(key, 0, -1)
    return ids.count(id.encode())


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("name", HOSTILE_USERS)
@pytest.mark.parametrize("id", IDS)
def test_list_enqueue_without_permission_for_lrem(
    server: Server, client: redis.Redis, prefix: str, id: str, name: str
) -> None:
    """B24, redis/redis#8478: no stop midway."""
    put(client, prefix)
    with (
        user(server, name, "+@all", "-LREM") as limited,
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        UniqueQueue(limited, prefix, "list").enqueue(id)


@pytest.mark.servers(*HAVE_ACL)
def test_without_permission_for_lrem_the_published_enqueue_leaves_a_duplicate(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    put(client, prefix)
    with user(server, "worker", "+@all", "-LREM") as limited, pytest.raises(redis.ResponseError):
        limited.eval(published.LIST_ENQUEUE, 1, prefix, "tail")
    assert copies(client, prefix, "tail") == 2


@pytest.mark.servers(*ALL)
def test_list_enqueue_with_lrem_renamed_away(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    """B24, redis/redis#8478: no stop midway."""
    with private_server(server_name, "--rename-command", "LREM", "").client() as client:
        for id in IDS:
            client.delete("queue")
            put(client, "queue")
            with refused(client, "queue", Reason.UNSUPPORTED_SERVER):
                UniqueQueue(client, "queue", "list").enqueue(id)
        with pytest.raises(redis.ResponseError):
            client.eval(published.LIST_ENQUEUE, 1, "queue", "tail")
        assert copies(client, "queue", "tail") == 2


@pytest.mark.servers(*ALL)
@pytest.mark.parametrize("id", IDS)
def test_list_enqueue_at_the_memory_limit(client: redis.Redis, prefix: str, id: str) -> None:
    """B24, redis/redis#8478, by EVAL and by EVALSHA."""
    put(client, prefix)
    client.script_flush()
    with memory_limit(client):
        for _ in range(2):
            with refused(client, prefix, Reason.OUT_OF_MEMORY):
                UniqueQueue(client, prefix, "list").enqueue(id)


@pytest.mark.servers(*WITHOUT_ACL_CHECK)
def test_asking_for_lrem_first_would_end_the_memory_check(client: redis.Redis, prefix: str) -> None:
    """B24, redis/redis#8478: which write comes first decides, be it a failed one."""
    text = scripts.LIST_ENQUEUE.text
    linsert = "refusal(redis.pcall('LINSERT', key, 'malformed', id, id), 'syntax error')"
    lrem = "refusal(redis.pcall('LREM', key, 'malformed', id), 'not an integer')"
    assert linsert in text and lrem in text
    swapped = text.replace(linsert, "x").replace(lrem, linsert).replace("x\n", f"{lrem}\n")
    put(client, prefix)
    with memory_limit(client):
        assert client.eval(swapped, 1, prefix, "new") == 1
        assert copies(client, prefix, "new") == 1


@pytest.mark.servers(*RUN_ZSET)
@pytest.mark.parametrize("storage", ZSETS)
@pytest.mark.parametrize("id", IDS)
def test_zset_enqueue_at_the_memory_limit(
    client: redis.Redis, prefix: str, storage: str, id: str
) -> None:
    """B24, redis/redis#8478."""
    put(client, prefix, storage)
    with memory_limit(client), refused(client, prefix, Reason.OUT_OF_MEMORY):
        UniqueQueue(client, prefix, storage).enqueue(id)


@pytest.mark.servers(*ALL)
@pytest.mark.parametrize("storage", STORAGES)
def test_dequeue_works_at_the_memory_limit(
    client: redis.Redis, prefix: str, server_name: str, storage: str
) -> None:
    """B24, redis/redis#8478. Even the servers that cannot enqueue in a ZSET can drain one."""
    put(client, prefix, storage)
    queue = UniqueQueue(client, prefix, storage)
    with memory_limit(client):
        left = [queue.dequeue() for _ in range(5)]
    assert left == [*PENDING, "head" if storage == "list" else None, None]


@pytest.mark.servers(*since("7.0"))
def test_a_header_would_let_the_memory_limit_stop_dequeue(client: redis.Redis, prefix: str) -> None:
    """B24, redis/redis#8478: for a script with flags the check comes before its first command."""
    put(client, prefix, "zset")
    headed = f"#!lua\n{scripts.ZSET_DEQUEUE.text}"
    with memory_limit(client), pytest.raises(redis.exceptions.OutOfMemoryError):
        client.eval(headed, 1, prefix)
    with memory_limit(client):
        allowed = headed.replace("#!lua", "#!lua flags=allow-oom")
        assert client.eval(allowed, 1, prefix) == b"head"


@pytest.mark.servers(*ALL)
def test_on_a_replica_nothing_is_executed_and_an_empty_dequeue_is_an_error(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as client:
        for storage in STORAGES:
            put(source, storage, storage)
        await_copy(source, client)
        for storage in STORAGES:
            with refused(client, "empty", Reason.READONLY):
                UniqueQueue(client, "empty", storage).dequeue()
            with refused(client, storage, Reason.READONLY):
                UniqueQueue(client, storage, storage).dequeue()
        for storage, id in product(enqueueing(server_name), IDS):
            with refused(client, storage, Reason.READONLY):
                UniqueQueue(client, storage, storage).enqueue(id)
        assert client.eval(published.ZSET_DEQUEUE, 1, "empty") is None


@contextmanager
def logging_primary(private_server: Callable[..., Server], name: str) -> Iterator[redis.Redis]:
    server = private_server(name, "--appendonly", "yes", "--appendfsync", "no")
    with server.client() as client:
        client.set("first", "word")  # what the log begins with is in it
        yield client


def logged_by(client: redis.Redis, call: Callable[[], object]) -> int:
    """How many bytes the calls told to the append-only file, and so to replicas."""
    before = client.info("persistence")["aof_current_size"]
    for _ in range(3):
        assert call() is None
    after: int = client.info("persistence")["aof_current_size"]
    return after - before


@pytest.mark.servers(*ALL)
def test_an_empty_dequeue_tells_replicas_nothing(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    with logging_primary(private_server, server_name) as client:
        for storage in enqueueing(server_name):
            assert logged_by(client, UniqueQueue(client, "queue", storage).dequeue) == 0
        assert logged_by(client, lambda: client.set("any", "write") and None) > 0


@pytest.mark.servers(*EMPTY_TRANSACTION)
def test_without_the_switch_they_are_told_an_empty_transaction(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    switch = "redis.set_repl(redis.REPL_NONE)"
    assert switch in scripts.ZSET_DEQUEUE.text
    talkative = scripts.ZSET_DEQUEUE.text.replace(switch, "")
    with logging_primary(private_server, server_name) as client:
        assert logged_by(client, lambda: client.eval(talkative, 1, "queue")) > 0


@pytest.mark.servers(*ALL)
def test_a_dequeue_that_takes_an_id_is_told_to_replicas(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    """The switch must not outlast the call in which it was thrown."""
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as client:
        for storage in enqueueing(server_name):
            put(source, storage, storage)
            queue = UniqueQueue(source, storage, storage)
            assert UniqueQueue(source, "empty", storage).dequeue() is None
            assert queue.dequeue() == "head"
            await_copy(source, client)
            assert snapshot(client, storage) == snapshot(source, storage)


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("storage", ["list", "zset"])
def test_an_empty_dequeue_without_permission_to_take_is_an_error(
    server: Server, client: redis.Redis, prefix: str, storage: str
) -> None:
    taking = "-LPOP" if storage == "list" else "-ZREM"
    with (
        user(server, "worker", "+@all", taking) as limited,
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        UniqueQueue(limited, prefix, storage).dequeue()

"""A migration that the server would not let finish is refused, and the LIST is as it was.

DEL is in the middle of it: what is refused after that takes the queue with it. So every test here
also runs the published script, which does not ask beforehand, where that loses the queue.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from tests import published
from tests.faults import (
    FREEZE_TIME,
    HAVE_ACL,
    HOSTILE_USERS,
    RUN_ZSET,
    await_copy,
    memory_limit,
    refused,
    snapshot,
    start_replica,
    user,
)
from uniqfifo import Reason, UniqueQueue, scripts
from uniqfifo_spec.conformance.spawn import Server

NEEDED = ("TIME", "TYPE", "ZADD", "LRANGE", "DEL")
IDS = [b"z", b"a", b"z", b"m", *(b"%d" % number for number in range(1_000))]


def put_list(judge: redis.Redis, key: str) -> None:
    judge.rpush(key, *IDS)
    judge.expire(key, 10_000)


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("name", HOSTILE_USERS)
@pytest.mark.parametrize("command", NEEDED)
def test_without_permission_for_a_command(
    server: Server, client: redis.Redis, prefix: str, command: str, name: str
) -> None:
    put_list(client, prefix)
    with (
        user(server, name, "+@all", f"-{command}") as limited,
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        UniqueQueue(limited, prefix).migrate()


@pytest.mark.servers(*HAVE_ACL)
def test_without_permission_the_published_script_loses_the_queue(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    put_list(client, prefix)
    with user(server, "worker", "+@all", "-ZADD") as limited:
        with pytest.raises(redis.ResponseError):
            limited.eval(published.MIGRATE, 1, prefix)
        assert not client.exists(prefix)


@pytest.mark.servers(*FREEZE_TIME)
def test_an_unanchored_probe_is_fooled_by_a_user_named_wrongtype(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    anchored = "string.find(answer, 'WRONGTYPE', 1, true) ~= 1"
    assert anchored in scripts.MIGRATE.text
    unanchored = scripts.MIGRATE.text.replace(anchored, "not string.find(answer, 'WRONGTYPE')")
    put_list(client, prefix)
    with user(server, "WRONGTYPE", "+@all", "-ZADD") as limited:
        with pytest.raises(redis.ResponseError):
            limited.eval(unanchored, 1, prefix)
        assert not client.exists(prefix)


@pytest.mark.servers(*RUN_ZSET)
@pytest.mark.parametrize("command", NEEDED)
def test_with_a_command_renamed_away(
    server_name: str, private_server: Callable[..., Server], command: str
) -> None:
    server = private_server(server_name, "--rename-command", command, "")
    with server.client() as client:
        put_list(client, "queue")
        with refused(client, "queue", Reason.UNSUPPORTED_SERVER):
            UniqueQueue(client, "queue").migrate()
        if command == "ZADD":
            with pytest.raises(redis.ResponseError):
                client.eval(published.MIGRATE, 1, "queue")
            assert not client.exists("queue")


@pytest.mark.servers(*RUN_ZSET)
def test_at_the_memory_limit(client: redis.Redis, prefix: str) -> None:
    """B24, redis/redis#8478. The LIST is large enough for its DEL to end the shortage."""
    client.rpush(prefix, *(b"%0100d" % number for number in range(9_000)))
    with memory_limit(client), refused(client, prefix, Reason.OUT_OF_MEMORY):
        UniqueQueue(client, prefix).migrate()


@pytest.mark.servers(*RUN_ZSET)
def test_at_the_memory_limit_the_published_script_runs_on(client: redis.Redis, prefix: str) -> None:
    """B24, redis/redis#8478: DEL ends the check, and nobody is told that memory is short."""
    client.rpush(prefix, *(b"%0100d" % number for number in range(3_000)))
    with memory_limit(client):
        assert client.eval(published.MIGRATE, 1, prefix) == 3_000


@pytest.mark.servers(*RUN_ZSET)
def test_a_limit_that_is_met_half_way_does_not_stop_it(client: redis.Redis, prefix: str) -> None:
    """B24, redis/redis#8478: complete or untouched, also where the ZSET is what takes too much."""
    client.rpush(prefix, *(b"%d" % number for number in range(20_000)))
    before = client.info("memory")["used_memory"]
    with memory_limit(client, spare=200_000):
        assert UniqueQueue(client, prefix).migrate() == client.zcard(prefix) == 20_000
        assert client.info("memory")["used_memory"] > before + 200_000


@pytest.mark.servers(*RUN_ZSET)
def test_on_a_replica(server_name: str, private_server: Callable[..., Server]) -> None:
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as client:
        put_list(source, "queue")
        await_copy(source, client)
        with refused(client, "queue", Reason.READONLY):
            UniqueQueue(client, "queue").migrate()
        assert snapshot(source, "queue") == snapshot(client, "queue")


@pytest.mark.servers("redis-2.8", "redis-3.0")
def test_on_a_server_that_is_too_old_for_a_zset(client: redis.Redis, prefix: str) -> None:
    put_list(client, prefix)
    queue = UniqueQueue(client, prefix)
    with refused(client, prefix, Reason.UNSUPPORTED_SERVER):
        queue.migrate()
    client.delete(prefix)
    for storage in ("zset", "zset-strict"):
        with refused(client, prefix, Reason.UNSUPPORTED_SERVER):
            UniqueQueue(client, prefix, storage).enqueue("a")


@pytest.mark.servers("redis-2.8")
def test_on_a_server_without_zadd_nx_the_published_script_loses_the_queue(
    client: redis.Redis, prefix: str
) -> None:
    put_list(client, prefix)
    with pytest.raises(redis.ResponseError):
        client.eval(published.MIGRATE, 1, prefix)
    assert not client.exists(prefix)


@pytest.mark.servers("redis-3.0")
def test_a_probe_that_does_not_ask_for_time_first_leaves_a_queue_that_takes_nothing(
    client: redis.Redis, prefix: str
) -> None:
    """3.0.5 knows ZADD NX, but no script there may write after TIME: enqueue cannot run."""
    hasty = scripts.MIGRATE.text.replace("redis.call('TIME')", "")
    put_list(client, prefix)
    assert client.eval(hasty, 1, prefix) == len(set(IDS))
    with refused(client, prefix, Reason.UNSUPPORTED_SERVER):
        UniqueQueue(client, prefix).enqueue("new")

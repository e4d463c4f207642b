"""A way back that the server would not let finish is refused, and the ZSET is as it was.

As in `test_migration_refused`, each situation is also met by a script that does not ask beforehand,
or asks in another way: else these tests might not be able to fail.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
import redis

from tests.faults import (
    ALL,
    FREEZE_TIME,
    HAVE_ACL,
    HOSTILE_USERS,
    await_copy,
    memory_limit,
    refused,
    start_replica,
    user,
)
from uniqfifo import Reason, UniqueQueue, scripts
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once  # what redis-py makes of a refusal is seen in test_migration_refused

NAIVE = """
local ids = redis.call('ZRANGE', KEYS[1], 0, -1)
redis.call('DEL', KEYS[1])
for first = 1, #ids, 500 do
  redis.call('RPUSH', KEYS[1], unpack(ids, first, math.min(first + 499, #ids)))
end
return #ids
"""

NEEDED = ("TYPE", "RPUSH", "ZRANGE", "DEL")
COUNT = 1_000


def put_zset(judge: redis.Redis, key: str, width: int = 0, count: int = COUNT) -> None:
    """Ids whose leaving order is not that of their bytes, on a key that is to expire."""
    for first in range(0, count, 1_000):
        some = range(first, min(first + 1_000, count))
        judge.zadd(key, {f"{number:0{width}d}": -number // 2 for number in some})
    judge.expire(key, 10_000)


def go_back(client: redis.Redis, key: str) -> int:
    return UniqueQueue(client, key, "list").roll_back()


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("name", HOSTILE_USERS)
@pytest.mark.parametrize("command", NEEDED)
def test_without_permission_for_a_command(
    server: Server, client: redis.Redis, prefix: str, command: str, name: str
) -> None:
    put_zset(client, prefix)
    with (
        user(server, name, "+@all", f"-{command}") as limited,
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        go_back(limited, prefix)


@pytest.mark.servers(*HAVE_ACL)
def test_without_permission_for_rpush_a_naive_script_loses_the_queue(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    put_zset(client, prefix)
    with user(server, "worker", "+@all", "-RPUSH") as limited:
        with pytest.raises(redis.ResponseError):
            limited.eval(NAIVE, 1, prefix)
        assert not client.exists(prefix)


CARELESS = {
    "TYPE": ("redis.call('TYPE', key).ok", "'zset'"),
    "ZRANGE": ("redis.call('ZRANGE'", "redis.pcall('ZRANGE'"),
    "DEL": ("redis.call('DEL'", "redis.pcall('DEL'"),
}


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("command", CARELESS)
def test_a_script_that_goes_on_without_permission_is_caught(
    server: Server,
    client: redis.Redis,
    prefix: str,
    command: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without TYPE it would go on, without ZRANGE lose all, without DEL blame the key's type."""
    right, careless = CARELESS[command]
    assert right in scripts.ROLLBACK.text
    text = scripts.ROLLBACK.text.replace(right, careless)
    sha = client.script_load(text)
    monkeypatch.setattr(scripts, "ROLLBACK", scripts.Script("careless", text, sha))
    put_zset(client, prefix)
    with (
        user(server, "worker", "+@all", f"-{command}") as limited,
        pytest.raises((AssertionError, pytest.fail.Exception)),
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        go_back(limited, prefix)


@pytest.mark.servers(*FREEZE_TIME)
def test_an_unanchored_probe_is_fooled_by_a_user_named_wrongtype(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    anchored = "string.find(answer, 'WRONGTYPE', 1, true) ~= 1"
    assert anchored in scripts.ROLLBACK.text
    unanchored = scripts.ROLLBACK.text.replace(anchored, "not string.find(answer, 'WRONGTYPE')")
    put_zset(client, prefix)
    with user(server, "WRONGTYPE", "+@all", "-RPUSH") as limited:
        with pytest.raises(redis.ResponseError):
            limited.eval(unanchored, 1, prefix)
        assert not client.exists(prefix)


@pytest.mark.servers(*HAVE_ACL)
def test_with_a_key_that_the_user_may_not_touch(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    put_zset(client, prefix)
    with (
        user(server, "worker", "+@all", "resetkeys", f"~{prefix}-mine") as limited,
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        go_back(limited, prefix)


@pytest.mark.servers(*ALL)
@pytest.mark.parametrize("command", NEEDED)
def test_with_a_command_renamed_away(
    server_name: str, private_server: Callable[..., Server], command: str
) -> None:
    server = private_server(server_name, "--rename-command", command, "")
    with server.client() as client:
        put_zset(client, "queue")
        with refused(client, "queue", Reason.UNSUPPORTED_SERVER):
            go_back(client, "queue")
        if command == "RPUSH":
            with pytest.raises(redis.ResponseError):
                client.eval(NAIVE, 1, "queue")
            assert not client.exists("queue")


@pytest.mark.servers(*ALL)
def test_at_the_memory_limit(client: redis.Redis, prefix: str) -> None:
    """The ZSET is large enough for its DEL to end the shortage."""
    put_zset(client, prefix, width=100, count=9_000)
    with memory_limit(client), refused(client, prefix, Reason.OUT_OF_MEMORY):
        go_back(client, prefix)


@pytest.mark.servers(*ALL)
def test_at_the_memory_limit_a_naive_script_runs_on(client: redis.Redis, prefix: str) -> None:
    """DEL ends the check, and nobody is told that memory is short."""
    put_zset(client, prefix, width=100, count=9_000)
    with memory_limit(client):
        assert client.eval(NAIVE, 1, prefix) == 9_000


@pytest.mark.servers(*ALL)
def test_a_limit_that_is_met_half_way_does_not_stop_it(client: redis.Redis, prefix: str) -> None:
    """Complete or untouched, though reading the ids takes more than is left."""
    put_zset(client, prefix, count=20_000)
    before = client.zrange(prefix, 0, -1)
    with memory_limit(client, spare=50_000):
        assert go_back(client, prefix) == 20_000
    assert client.lrange(prefix, 0, -1) == before


@pytest.mark.servers(*ALL)
def test_on_a_replica(server_name: str, private_server: Callable[..., Server]) -> None:
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as client:
        put_zset(source, "queue")
        await_copy(source, client)
        with refused(client, "queue", Reason.READONLY):
            go_back(client, "queue")
        # The same call does change a replica that lets it.
        client.config_set("slave-read-only", "no")
        with (
            pytest.raises(pytest.fail.Exception),
            refused(client, "queue", Reason.READONLY),
        ):
            go_back(client, "queue")
        assert (client.type("queue"), source.type("queue")) == (b"list", b"zset")


@pytest.mark.servers(*ALL)
def test_what_it_does_reaches_a_replica(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as client:
        put_zset(source, "queue", count=2_001)
        assert go_back(source, "queue") == 2_001
        await_copy(source, client)
        assert client.lrange("queue", 0, -1) == source.lrange("queue", 0, -1)
        assert client.ttl("queue") == -1

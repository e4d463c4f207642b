"""Each refusal of a server is told apart, inside and outside scripts, and nothing was done.

Users, keys and ids are called like error codes here, since servers quote them.
Covers B20 (redis/redis-py#3443): READONLY inside a script arrives as a general error.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.cluster import start_node
from tests.faults import (
    ALL,
    HAVE_ACL,
    RUN_ZSET,
    await_copy,
    endless_script,
    failing_snapshots,
    memory_limit,
    since,
    slow_log,
    start_replica,
    user,
)
from uniqfifo import NotExecuted, Reason, Storage, UniqueQueue
from uniqfifo.refusals import reason_of
from uniqfifo_spec.conformance.spawn import Server, spawn

NAMES = ("READONLY", "WRONGTYPE", "NOPERM", "OOM")

Call = tuple[Storage, str]
ENQUEUE = {(storage, "enqueue") for storage in Storage}
DEQUEUE = {(Storage.LIST, "dequeue"), (Storage.ZSET, "dequeue")}
WRITES = ENQUEUE | DEQUEUE
SCRIPTS = WRITES - {(Storage.LIST, "dequeue")}
READS = {(Storage.LIST, "size"), (Storage.ZSET, "size")}
EVERY = WRITES | READS

StartServer = Callable[..., Server]
AT_ONCE = {"retry": Retry(NoBackoff(), 0)}  # the first failure to connect is the answer
SILENT: dict[str, Any] = {
    "redis_connect_func": lambda connection: connection._parser.on_connect(connection)
}
"""For a client that sends nothing of its own, so that it is the call that the server answers."""


@pytest.fixture(scope="module")
def start_shared() -> Iterator[Callable[[str], Server]]:
    with ExitStack() as stack:
        yield cache(lambda binary: stack.enter_context(spawn(binary)))


@pytest.fixture
def lent(binary: str, start_shared: Callable[[str], Server]) -> Server:
    """A server to configure, for the tests of this module; they leave it as they found it."""
    return start_shared(binary)


@pytest.fixture
def judge(lent: Server) -> Iterator[redis.Redis]:
    """A client of that server, with queues on it that are called like error codes."""
    with lent.client(single_connection_client=True) as judge:
        fill(judge)
        yield judge
        judge.flushall()


def fill(judge: redis.Redis) -> None:
    for name in NAMES:
        judge.rpush(key_of(name, Storage.LIST), "first", name)
        judge.zadd(key_of(name, Storage.ZSET), {"first": 1, name: 2})


def key_of(name: str, storage: Storage) -> str:
    return f"{name} {storage.key_type}"


@contextmanager
def unchanged(judge: redis.Redis) -> Iterator[None]:
    def contents() -> dict[bytes, bytes | None]:
        return {key: judge.dump(key) for key in sorted(judge.keys())}

    before = contents()
    yield
    assert contents() == before


def assert_refused(
    client: redis.Redis,
    calls: set[Call],
    reason: Reason,
    server: str,
    names: Iterable[str] = NAMES,
    key_of: Callable[[str, Storage], str] = key_of,
) -> None:
    """Every one of these calls is refused, for this reason, whatever key and id are called."""
    for name in names:
        for storage, method in sorted(calls):
            if storage is Storage.LIST or server in RUN_ZSET:
                queue = UniqueQueue(client, key_of(name, storage), storage)
                arguments = (f"{name} new",) if method == "enqueue" else ()
                with pytest.raises(NotExecuted) as caught:
                    getattr(queue, method)(*arguments)
                assert caught.value.reason is reason, (storage, method, caught.value)


@pytest.mark.servers(*ALL)
def test_readonly(private_server: StartServer, server_name: str) -> None:
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as judge, replica.client() as client:
        fill(source)
        await_copy(source, judge)
        with unchanged(judge):
            assert_refused(client, WRITES, Reason.READONLY, server_name)


@pytest.mark.servers(*ALL)
def test_busy(lent: Server, judge: redis.Redis, server_name: str) -> None:
    judge.config_set("lua-time-limit", 5)
    with lent.client() as client, unchanged(judge), endless_script(lent):
        assert_refused(client, EVERY, Reason.BUSY, server_name)


@pytest.mark.servers(*ALL)
def test_out_of_memory(lent: Server, judge: redis.Redis, server_name: str) -> None:
    with lent.client() as client, unchanged(judge), memory_limit(judge):
        assert_refused(client, ENQUEUE, Reason.OUT_OF_MEMORY, server_name)


@pytest.mark.servers(*ALL)
def test_failing_persistence(lent: Server, judge: redis.Redis, server_name: str) -> None:
    with lent.client() as client, unchanged(judge), failing_snapshots(lent):
        assert_refused(client, WRITES, Reason.MISCONF, server_name)


@pytest.mark.servers(*ALL)
def test_too_few_replicas(lent: Server, judge: redis.Redis, server_name: str) -> None:
    # Up to 6.0 scripts may write all the same.
    calls = WRITES if server_name in since("6.2") else WRITES - SCRIPTS
    judge.config_set("min-slaves-to-write", 1)
    with lent.client() as client, unchanged(judge):
        assert_refused(client, calls, Reason.NO_REPLICAS, server_name)
    judge.config_set("min-slaves-to-write", 0)


@pytest.mark.servers(*ALL)
def test_master_down(lent: Server, judge: redis.Redis, server_name: str) -> None:
    judge.config_set("slave-serve-stale-data", "no")
    judge.config_set("slave-read-only", "no")  # READONLY would come first
    with lent.client() as client, unchanged(judge):
        judge.execute_command("SLAVEOF", "127.0.0.1", 1)
        assert_refused(client, EVERY, Reason.MASTER_DOWN, server_name)
        judge.execute_command("SLAVEOF", "NO", "ONE")
    judge.config_set("slave-read-only", "yes")


@pytest.mark.servers(*since("3.0"))
def test_cluster_down(binary: str, server_name: str) -> None:
    with ExitStack() as stack:
        node = start_node(stack, binary)  # has no slots
        with node.client() as client:
            assert_refused(client, EVERY, Reason.CLUSTER_DOWN, server_name)


@pytest.mark.servers(*ALL)
def test_too_many_clients(lent: Server, judge: redis.Redis, server_name: str) -> None:
    judge.config_set("maxclients", 1)
    with lent.client(**AT_ONCE) as client, unchanged(judge):
        assert_refused(client, EVERY, Reason.TOO_MANY_CLIENTS, server_name)
    judge.config_set("maxclients", 1000)


@pytest.mark.servers(*ALL)
def test_loading(private_server: StartServer, server_name: str, tmp_path: Path) -> None:
    (tmp_path / "appendonly.aof").write_bytes(slow_log(100_000))
    server = private_server(server_name, "--dir", f"{tmp_path}", "--appendonly", "yes")
    calls = {(Storage.LIST, "dequeue"), (Storage.ZSET, "enqueue")}
    for options in ({}, SILENT):
        with server.client(**AT_ONCE, **options) as client:
            assert_refused(client, calls, Reason.LOADING, server_name, names=["OOM"])
    server.process.kill()  # it would finish its loading first


@pytest.mark.servers(*ALL)
def test_authentication(private_server: StartServer, server_name: str) -> None:
    server = private_server(server_name, password="secret")
    with server.client() as judge:
        fill(judge)
        for options in ({"password": None}, {"password": None, **SILENT}, {"password": "OOM"}):
            with server.client(**AT_ONCE, **options) as client, unchanged(judge):
                assert_refused(client, EVERY, Reason.AUTHENTICATION, server_name)


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize(
    "rules",
    [["-lpop", "-linsert", "-zrange", "-zadd", "-zrevrange", "-zcard", "-llen"], ["resetkeys"]],
    ids=["commands", "keys"],
)
def test_no_permission(
    lent: Server, judge: redis.Redis, server_name: str, rules: list[str]
) -> None:
    for name in NAMES:
        with user(lent, name, "+@all", *rules) as client, unchanged(judge):
            assert_refused(client, EVERY, Reason.NO_PERMISSION, server_name)


@pytest.mark.servers(*ALL)
def test_a_command_that_was_renamed_away(private_server: StartServer, server_name: str) -> None:
    gone = ("LPOP", "LINSERT", "LLEN", "ZRANGE", "ZADD", "ZREVRANGE", "ZCARD")
    arguments = [word for command in gone for word in ("--rename-command", command, "")]
    with private_server(server_name, *arguments).client() as client:
        assert_refused(client, EVERY, Reason.UNSUPPORTED_SERVER, server_name)


@pytest.mark.servers("redis-2.8", "redis-3.0")
def test_an_old_server_refuses_the_zset_storages(
    lent: Server, judge: redis.Redis, server_name: str
) -> None:
    with lent.client() as client, unchanged(judge):
        for storage in (Storage.ZSET, Storage.ZSET_STRICT):
            with pytest.raises(NotExecuted) as caught:
                UniqueQueue(client, "OOM zset", storage).enqueue("a")
            assert caught.value.reason is Reason.UNSUPPORTED_SERVER


@pytest.mark.servers("redis-2.8", "redis-5.0")
def test_a_server_that_does_not_speak_resp3(lent: Server, judge: redis.Redis) -> None:
    with lent.client(**AT_ONCE | {"protocol": 3}) as client, unchanged(judge):
        with pytest.raises(NotExecuted) as caught:
            UniqueQueue(client, "OOM list", Storage.LIST).dequeue()
        assert caught.value.reason is Reason.UNSUPPORTED_SERVER


@pytest.mark.servers(*ALL)
def test_a_wrong_type(lent: Server, judge: redis.Redis, server_name: str) -> None:
    def other_key(name: str, storage: Storage) -> str:
        return key_of(name, Storage.ZSET if storage is Storage.LIST else Storage.LIST)

    with lent.client() as client, unchanged(judge):
        assert_refused(client, EVERY, Reason.WRONG_TYPE, server_name, key_of=other_key)


@pytest.mark.parametrize(
    "text",
    [
        "ERR upstream said READONLY",
        "ERR user OOM is unknown here",
        "READONLYUSER is not allowed",
        "BUSYKEY Target key name already exists.",
        "ERR Error running script (call to f_x): READONLY",
        "@user_script: 3: the id is -OOM",
        "",
    ],
)
def test_an_answer_that_is_not_known_is_no_refusal(text: str) -> None:
    assert reason_of(redis.ResponseError(text)) is None

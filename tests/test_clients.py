"""Every kind of client may be handed over: its answers are right, and it stays as it was.

Covers B11 (rq/rq#1188, redis/redis-py#1254): popped, then the client cannot decode it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fakeredis
import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio
from redis.cache import CacheConfig

from tests.hosts import Host
from tests.proxy import LOOPBACK, Proxy, free_port
from tests.tls import speaking_tls
from uniqfifo import NotExecuted, QueueType, Reason, RedisQueueProvider, Storage
from uniqfifo.connect import connect, connect_async
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers("redis-6.2", "redis-8.2", "valkey-9.1")

LIBRARIES = {
    "redis": redis.Redis,
    "redis-asyncio": redis.asyncio.Redis,
    "valkey": valkey.Valkey,
    "valkey-asyncio": valkey.asyncio.Valkey,
}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain": {"protocol": 2},
    "decoding": {"protocol": 2, "decode_responses": True},
    "other-encoding": {"protocol": 2, "decode_responses": True, "encoding": "latin-1"},
    "single-connection": {"protocol": 2, "single_connection_client": True},
    "health-check": {"protocol": 2, "health_check_interval": 0.02},
    "RESP3": {"protocol": 3},
}
FOREIGN = b"\xff\xfe\x00\r\n\x85"  # no UTF-8


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy() as proxy:
        proxy.target = server.port
        yield proxy


@pytest.fixture(params=[(kind, option) for kind in LIBRARIES for option in OPTIONS], ids="-".join)
def host(request: pytest.FixtureRequest, proxy: Proxy) -> Iterator[Host]:
    kind, option = request.param
    made = LIBRARIES[kind](host=LOOPBACK, port=proxy.port, socket_timeout=5, **OPTIONS[option])
    with Host(made) as host:
        yield host


def walk(host: Host, judge: redis.Redis, key: str) -> None:
    """Use every operation of a queue, in every storage."""
    for storage in Storage:
        queue = host.queue(key, storage)
        queue.make_ready()
        assert [queue.enqueue(id) for id in ("a", "b", "a", "ü")] == [True, True, False, True]
        assert (queue.size(), queue.position("b"), queue.contains("c")) == (3, 1, False)
        assert queue.peek(2) == ["a", "b"]
        assert queue.remove("b")
        if storage is Storage.LIST:
            judge.rpush(key, FOREIGN)
        else:
            judge.zadd(key, {FOREIGN: 2**52})
        assert [queue.dequeue() for _ in range(2)] == ["a", "ü"]
        foreign = queue.dequeue()
        assert foreign.encode("utf-8", "surrogateescape") == FOREIGN
        assert queue.enqueue(foreign) and queue.dequeue() == foreign
        assert queue.dequeue() is None


def settings(client: Any) -> Any:
    """What one could change about a client, to compare it."""
    pool = client.connection_pool
    return pool, dict(pool.connection_kwargs), pool.max_connections, client.connection


def test_every_answer_is_right_and_the_client_stays_as_it_was(
    host: Host, client: redis.Redis, prefix: str
) -> None:
    assert host.run(host.client.ping())
    before = settings(host.client)
    walk(host, client, prefix)
    assert settings(host.client) == before
    assert host.run(host.client.ping())


def test_a_connection_that_the_server_closed_is_replaced_before_sending(
    host: Host, proxy: Proxy, prefix: str
) -> None:
    queue = host.queue(prefix)
    for id in ("a", "b", "c"):
        assert queue.enqueue(id)
        proxy.drop()
        time.sleep(0.01)
    assert queue.peek(9) == ["a", "b", "c"]


@pytest.mark.parametrize("kind", ["redis", "redis-asyncio"])
@pytest.mark.parametrize("single_connection", [False, True])
def test_a_message_that_came_before_the_connection_was_closed(
    client: redis.Redis, proxy: Proxy, prefix: str, kind: str, single_connection: bool
) -> None:
    """With RESP3 a server says things unasked, and these may hide the end of the connection."""
    options = {"protocol": 3, "single_connection_client": single_connection, "max_connections": 1}
    with Host(LIBRARIES[kind](host=LOOPBACK, port=proxy.port, **options)) as host:
        queue = host.queue(prefix)
        assert queue.enqueue("a")
        host.run(host.client.execute_command("CLIENT", "TRACKING", "ON"))
        assert queue.position("a") == 0
        client.delete(prefix)  # which the tracking connection is told
        proxy.drop()
        time.sleep(0.01)
        assert queue.enqueue("b")
        assert queue.peek(9) == ["b"]


@pytest.mark.servers("redis-8.2")
def test_client_side_caching(
    server: Server, client: redis.Redis, proxy: Proxy, prefix: str
) -> None:
    cached = redis.Redis(LOOPBACK, proxy.port, protocol=3, cache_config=CacheConfig())
    with Host(cached) as host:
        client.set(f"{prefix}-other", "1")
        for value in (b"1", b"2"):
            assert cached.get(f"{prefix}-other") == value  # from now on cached
            walk(host, client, f"{prefix}-queue")
            assert cached.get(f"{prefix}-other") == value
            proxy.drop()
            time.sleep(0.01)
            client.set(f"{prefix}-other", "2")
            assert host.queue(f"{prefix}-queue").size() == 0  # reconnects, which empties the cache


@pytest.mark.parametrize("kind", LIBRARIES)
def test_login_name_and_database(
    private_server: Callable[..., Server], server_name: str, kind: str
) -> None:
    server = private_server(server_name, password="secret")
    options = {"password": "secret", "username": "default", "db": 3, "client_name": "worker"}
    with server.client(db=3) as judge:
        made = LIBRARIES[kind](host=LOOPBACK, port=server.port, protocol=2, **options)
        with Host(made) as host:
            walk(host, judge, "queue")
            host.queue("queue").enqueue("a")
            assert judge.keys() == [b"queue"]
            assert "worker" in {each["name"] for each in judge.client_list()}


@pytest.mark.parametrize("kind", LIBRARIES)
def test_a_unix_socket(
    private_server: Callable[..., Server], server_name: str, tmp_path: Path, kind: str
) -> None:
    path = f"{tmp_path}/s"
    server = private_server(server_name, "--unixsocket", path)
    with server.client() as judge:
        with Host(LIBRARIES[kind](unix_socket_path=path, protocol=2)) as host:
            walk(host, judge, "queue")
        if kind.startswith("redis"):
            make = connect_async if kind.endswith("asyncio") else connect
            with Host(make(f"unix://{path}")) as host:
                walk(host, judge, "queue")


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("kind", LIBRARIES)
def test_tls(
    private_server: Callable[..., Server], server_name: str, tmp_path: Path, kind: str
) -> None:
    port = free_port()
    server = private_server(server_name, *speaking_tls(tmp_path, port))
    with server.client() as judge, Proxy() as proxy:
        proxy.target = port
        trust = {"ssl": True, "ssl_ca_certs": f"{tmp_path / 'ca'}", "protocol": 2}
        with Host(LIBRARIES[kind](host=LOOPBACK, port=proxy.port, **trust)) as host:
            walk(host, judge, "queue")
            proxy.drop()
            time.sleep(0.01)
            walk(host, judge, "queue")
        if kind.startswith("redis"):
            make = connect_async if kind.endswith("asyncio") else connect
            with Host(make(f"rediss://{LOOPBACK}:{port}?ssl_ca_certs={tmp_path / 'ca'}")) as host:
                walk(host, judge, "queue")


def test_a_full_pool_makes_calls_wait_and_then_not_executed(server: Server, prefix: str) -> None:
    client = connect(f"{server.url}?max_connections=1", timeout=0.6)
    with Host(client) as host:
        queue = host.queue(prefix)
        borrowed = client.connection_pool.get_connection()
        threading.Timer(0.1, client.connection_pool.release, [borrowed]).start()
        assert queue.enqueue("a")
        borrowed = client.connection_pool.get_connection()
        with pytest.raises(NotExecuted) as caught:
            queue.enqueue("b")
        assert caught.value.reason is Reason.CONNECTION
        client.connection_pool.release(borrowed)
        assert queue.peek(9) == ["a"]


def test_a_provider_that_stopped_leaves_no_connection(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    def connections() -> int:
        return len(client.client_list())

    before = connections()
    provider = RedisQueueProvider(server.url, prefix)
    for _ in range(2):
        with provider:
            assert provider.queue_work("a", QueueType.EVENT)
            assert provider.dequeue_work(QueueType.EVENT) == "a"
            assert connections() == before + 1
        deadline = time.monotonic() + 5
        while connections() > before:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@pytest.mark.parametrize("asyncio", [False, True])
def test_fakeredis(asyncio: bool) -> None:
    server = fakeredis.FakeServer()
    kind = fakeredis.FakeAsyncRedis if asyncio else fakeredis.FakeRedis
    for options in ({}, {"decode_responses": True}):
        with Host(kind(server=server, **options)) as host:
            walk(host, fakeredis.FakeRedis(server=server), "queue")

"""A failover that Sentinel decides on: the next call finds the new primary.

Covers B20 (redis/redis-py#3443): READONLY, and the connection to who is no primary any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
import redis
import redis.asyncio.sentinel
import redis.sentinel

from tests.faults import await_promotion, start_replica
from tests.hosts import Host
from tests.proxy import LOOPBACK
from tests.sentinel import SERVICE, await_true, start_sentinel
from uniqfifo import NotExecuted, QueueType, Reason, RedisQueueProvider, Storage
from uniqfifo.connect import connect, connect_async
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers("redis-6.2", "valkey-9.1")

StartServer = Callable[..., Server]
OPTIONS: dict[str, Any] = {"protocol": 2, "retry": None}
CLIENTS: dict[str, Callable[[int], Any]] = {
    "redis": lambda port: redis.sentinel.Sentinel(
        [(LOOPBACK, port)], sentinel_kwargs=OPTIONS, **OPTIONS
    ).master_for(SERVICE),
    "redis-asyncio": lambda port: redis.asyncio.sentinel.Sentinel(
        [(LOOPBACK, port)], sentinel_kwargs=OPTIONS, **OPTIONS
    ).master_for(SERVICE),
    "url": lambda port: connect(url(port)),
    "url-asyncio": lambda port: connect_async(url(port)),
}


def url(port: int) -> str:
    return f"redis+sentinel://{LOOPBACK}:1,{LOOPBACK}:{port}/{SERVICE}/0"


@contextmanager
def supervised(
    private_server: StartServer, name: str, binary: str, folder: Path
) -> Iterator[tuple[Server, Server, int]]:
    """A primary, its replica, and the port of a Sentinel that knows both."""
    primary, replica = start_replica(private_server, name)
    with ExitStack() as stack:
        yield primary, replica, start_sentinel(stack, binary, folder, primary)


@contextmanager
def server_at(port: int) -> Iterator[redis.Redis]:
    with redis.Redis(LOOPBACK, port, protocol=2) as client:
        yield client


@pytest.mark.parametrize("how", ["ordered", "killed"])
def test_a_failover(
    private_server: StartServer, server_name: str, binary: str, tmp_path: Path, how: str
) -> None:
    with ExitStack() as stack:
        primary, replica, port = stack.enter_context(
            supervised(private_server, server_name, binary, tmp_path)
        )
        hosts = [stack.enter_context(Host(make(port))) for make in CLIENTS.values()]
        queues = [
            host.queue(f"{place} {storage}", storage)
            for place, host in enumerate(hosts)
            for storage in Storage
        ]
        for queue in queues:
            queue.make_ready()
            assert queue.enqueue("a") is True
        with primary.client() as client:  # the rollback clause (DUR-1) is not needed here
            await_true(lambda: client.wait(1, 100) == 1)
        if how == "killed":
            primary.process.kill()
        else:
            with server_at(port) as client:
                await_true(lambda: client.execute_command("SENTINEL", "FAILOVER", SERVICE) == b"OK")
        for queue in queues:
            await_promotion(replica, queue, Reason.MASTER_DOWN)
            assert queue.enqueue("b") is True
            assert [queue.dequeue() for _ in range(3)] == ["a", "b", None]


def test_a_provider_by_url(
    private_server: StartServer, server_name: str, binary: str, tmp_path: Path
) -> None:
    with supervised(private_server, server_name, binary, tmp_path) as (primary, _, port):
        with RedisQueueProvider(url(port), "app") as provider:
            for queue in QueueType:
                assert provider.queue_work("a", queue)
                assert provider.dequeue_work(queue) == "a"
        with primary.client() as client:
            assert client.keys("app*") == []


def test_a_service_that_sentinel_does_not_know(
    private_server: StartServer, server_name: str, binary: str, tmp_path: Path
) -> None:
    with supervised(private_server, server_name, binary, tmp_path) as (_, _, port):
        provider = RedisQueueProvider(url(port).replace(SERVICE, "other"), "app")
        with pytest.raises(NotExecuted) as caught:
            provider.start()
        assert caught.value.reason is Reason.CONNECTION


@pytest.mark.parametrize("opening", [connect, connect_async])
def test_sentinels_that_cannot_be_asked_are_not_printed_with_their_password(
    opening: Callable[[str], Any],
) -> None:
    secret = "sec)>)>)> ret"
    query = f"?sentinel_password={quote(secret)}&password={quote(secret)}"
    url = f"redis+sentinel://{LOOPBACK}:1,{LOOPBACK}:2/{SERVICE}{query}"
    with Host(opening(url)) as host, pytest.raises(NotExecuted) as caught:
        host.queue("app").size()
    assert caught.value.reason is Reason.CONNECTION
    said = str(caught.value)
    assert said.startswith(f"not executed, no connection: No master found for '{SERVICE}' : ")
    assert "ConnectionError" in said and "ret" not in said and len(said) < 200


@pytest.mark.parametrize("storage", Storage)
def test_who_answered_readonly_is_not_asked_on_the_same_connection(
    private_server: StartServer, server_name: str, storage: Storage
) -> None:
    _, replica = start_replica(private_server, server_name)
    with Host(replica.client(single_connection_client=True)) as host:
        queue = host.queue("queue", storage)
        assert queue.size() == 0
        for call in (lambda: queue.enqueue("a"), queue.dequeue):
            with pytest.raises(NotExecuted) as caught:
                call()
            assert caught.value.reason is Reason.READONLY
            assert host.client.connection._sock is None

"""A call that finds no server is tried again for a second; one that was sent, never."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import redis.asyncio

import uniqfifo.asyncio
from tests.faults import away, patient
from tests.hosts import Host
from tests.proxy import LOOPBACK, REQUEST, Cut, Fault, Proxy, Reset, Swallow
from uniqfifo import (
    NotExecuted,
    OutcomeUnknown,
    QueueType,
    Reason,
    RedisQueueProvider,
    Storage,
    UniqueQueue,
    _exchange,
    _once,
)
from uniqfifo.connect import connect, connect_async
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.targets import Awaited

pytestmark = pytest.mark.servers("redis-6.2", "valkey-9.1")

StartServer = Callable[..., Server]
OPTIONS: dict[str, Any] = {"host": LOOPBACK, "protocol": 2, "socket_timeout": 1}
CLIENTS: dict[str, Callable[[int], Any]] = {
    "url": lambda port: connect(url(port)),
    "url-asyncio": lambda port: connect_async(url(port)),
    "no-retry": lambda port: redis.Redis(port=port, retry=None, **OPTIONS),
    "no-retry-asyncio": lambda port: redis.asyncio.Redis(port=port, retry=None, **OPTIONS),
    "default": lambda port: redis.Redis(port=port, **OPTIONS),
    "default-asyncio": lambda port: redis.asyncio.Redis(port=port, **OPTIONS),
}
FAULTS: list[Fault] = [Swallow(), Cut(0), Reset(REQUEST)]


def url(port: int) -> str:
    return f"redis://{LOOPBACK}:{port}/0?socket_timeout=1"


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy() as proxy:
        proxy.target = server.port
        yield proxy


@pytest.fixture(params=CLIENTS)
def host(request: pytest.FixtureRequest, proxy: Proxy) -> Iterator[Host]:
    with Host(CLIENTS[request.param](proxy.port)) as host:
        yield host


@pytest.fixture
def nobody() -> Iterator[tuple[int, list[None]]]:
    """A port at which every connection is closed, and one entry for each that was made."""
    made: list[None] = []
    with socket.create_server((LOOPBACK, 0)) as listener:

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                made.append(None)
                connection.close()

        thread = threading.Thread(target=accept)
        thread.start()
        yield listener.getsockname()[1], made
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def test_a_moment_without_the_server_is_bridged(host: Host, proxy: Proxy, prefix: str) -> None:
    queue = host.queue(prefix)
    with away(proxy):
        assert queue.enqueue("a")
    with away(proxy):
        assert queue.dequeue() == "a"


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_a_restart_is_bridged_by_start_and_by_calls(
    private_server: StartServer, server_name: str, kind: str
) -> None:
    """The new server knows no script, and is told."""
    with Proxy() as proxy:
        provider: Any = RedisQueueProvider(url(proxy.port), "app")
        if kind == "asyncio":
            provider = Awaited(uniqfifo.asyncio.RedisQueueProvider(url(proxy.port), "app"))
        for call in (provider.start, lambda: provider.queue_work("a", QueueType.EVENT)):
            with away(proxy):
                proxy.target = private_server(server_name).port
                call()
        assert provider.dequeue_work(QueueType.EVENT) == "a"
        provider.stop()


@pytest.mark.parametrize("kind", ["url", "url-asyncio", "no-retry", "no-retry-asyncio"])
def test_a_long_time_without_a_server_is_no_connection(
    nobody: tuple[int, list[None]], kind: str
) -> None:
    port, made = nobody
    with Host(CLIENTS[kind](port)) as host:
        began = time.monotonic()
        with pytest.raises(NotExecuted) as caught:
            host.queue("queue").dequeue()
        assert time.monotonic() - began < 20
    assert caught.value.reason is Reason.CONNECTION
    assert 1 < len(made) <= len(_once._PAUSES)


@pytest.mark.parametrize(
    ("seconds", "tries"),
    [
        (0, [0, 0, 0, 0.05, 0.15, 0.35, 0.55, 0.75, 0.95]),
        (0.25, [0, 0.25, 0.5, 0.8, 1.15]),
        (0.9, [0, 0.9, 1.8]),
        (1.1, [0]),  # a server that does not even refuse is not asked twice
    ],
)
def test_when_it_is_tried(
    monkeypatch: pytest.MonkeyPatch, seconds: float, tries: list[float]
) -> None:
    now = 0.0
    tried = []

    def pass_by(seconds: float) -> None:
        nonlocal now
        now += seconds

    def exchange(*arguments: Any) -> Any:
        yield from ()
        tried.append(round(now, 9))
        pass_by(seconds)
        raise NotExecuted(Reason.CONNECTION, f"refusal {len(tried)}")

    clock = SimpleNamespace(monotonic=lambda: now, sleep=pass_by)
    monkeypatch.setattr(_once, "time", clock)
    monkeypatch.setattr(_once, "exchange", exchange)
    with pytest.raises(NotExecuted, match=f"refusal {len(tries)}"):
        UniqueQueue(redis.Redis(), "queue").size()
    assert tried == tries


@pytest.mark.parametrize("fault", FAULTS, ids=str)
def test_what_was_sent_at_last_is_not_sent_again(
    host: Host, proxy: Proxy, prefix: str, fault: Fault
) -> None:
    proxy.spoil(b"LPOP", fault)
    with away(proxy), pytest.raises(OutcomeUnknown):
        host.queue(prefix, Storage.LIST).dequeue()
    assert proxy.count(b"LPOP") == 1


@pytest.mark.parametrize("host", ["url", "url-asyncio"], indirect=True)
def test_the_same_without_telling_the_two_apart_is_sent_again(
    monkeypatch: pytest.MonkeyPatch, host: Host, proxy: Proxy, prefix: str
) -> None:
    def not_executed(error: Exception, sent: bool) -> NotExecuted:
        return NotExecuted(Reason.CONNECTION, str(error))

    monkeypatch.setattr(_exchange, "meaning_of", not_executed)
    proxy.spoil(b"LPOP", Cut(0))
    with away(proxy):
        assert host.queue(prefix, Storage.LIST).dequeue() is None
    assert proxy.count(b"LPOP") == 2


def test_a_pool_of_one_connection_is_waited_for(server: Server, prefix: str) -> None:
    with server.client(max_connections=1) as client, patient():
        pool = client.connection_pool
        threading.Timer(0.3, pool.release, [pool.get_connection()]).start()
        assert UniqueQueue(client, prefix).enqueue("a")


def test_a_pool_of_one_connection_is_waited_for_in_asyncio(server: Server, prefix: str) -> None:
    async def main() -> None:
        options = {**OPTIONS, "port": server.port, "max_connections": 1}
        async with redis.asyncio.Redis(**options) as client:
            pool = client.connection_pool
            borrowed = await pool.get_connection()

            async def give_back() -> None:
                await asyncio.sleep(0.3)
                await pool.release(borrowed)

            queue = uniqfifo.asyncio.UniqueQueue(client, prefix)
            assert await asyncio.gather(queue.enqueue("a"), give_back()) == [True, None]

    with patient():
        asyncio.run(main())


def test_an_interruption_ends_the_waiting(
    monkeypatch: pytest.MonkeyPatch, nobody: tuple[int, list[None]]
) -> None:
    port, made = nobody

    def interrupted(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_once, "time", SimpleNamespace(monotonic=time.monotonic, sleep=interrupted))
    with CLIENTS["no-retry"](port) as client:
        with pytest.raises(KeyboardInterrupt):
            UniqueQueue(client, "queue").size()
        assert len(made) == 3
        assert not client.connection_pool._in_use_connections


def test_a_cancellation_ends_the_waiting(
    monkeypatch: pytest.MonkeyPatch, nobody: tuple[int, list[None]]
) -> None:
    port, made = nobody
    monkeypatch.setattr(_once, "asyncio", SimpleNamespace(sleep=lambda _: asyncio.Event().wait()))

    async def main() -> None:
        async with CLIENTS["no-retry-asyncio"](port) as client:
            call = asyncio.create_task(uniqfifo.asyncio.UniqueQueue(client, "queue").size())
            await asyncio.wait({call}, timeout=0.3)
            call.cancel()
            await asyncio.wait({call})
            assert call.cancelled()
            assert not client.connection_pool._in_use_connections

    asyncio.run(main())
    assert 0 < len(made) <= 3

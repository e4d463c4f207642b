"""A cancelled call leaves neither an answer nor a connection behind.

Covers B05 (redis/redis-py#2624): a cancelled call leaves a reply behind, and the next caller reads
it.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import suppress
from typing import Any

import pytest
import redis
import redis.asyncio

import uniqfifo
from tests.proxy import LOOPBACK, Delay, Proxy, Swallow
from uniqfifo import Storage, _exchange
from uniqfifo.asyncio import UniqueQueue
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers("redis-6.2", "valkey-9.1")

ROUNDS = 20_000 if os.environ.get("UNIQFIFO_DEEP") == "1" else 1_000
AT_ONCE = 4

Client = redis.asyncio.Redis


def pooled(port: int) -> Client:
    return Client(host=LOOPBACK, port=port, protocol=2, socket_timeout=10)


def scarce(port: int) -> Client:
    """Calls wait for connections, and for the lock of the pool."""
    pool = redis.asyncio.BlockingConnectionPool(
        host=LOOPBACK, port=port, protocol=2, socket_timeout=10, max_connections=2, timeout=10
    )
    return Client.from_pool(pool)


def single(port: int) -> Client:
    return Client(host=LOOPBACK, port=port, protocol=2, single_connection_client=True)


async def cancel_until_done(task: asyncio.Task[Any]) -> None:
    """Cancel as anyio does: again and again."""
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await task


async def nothing_is_borrowed(client: Client) -> None:
    await asyncio.sleep(0)
    pool = client.connection_pool
    expected = {client.connection} if client.connection else set()
    assert pool._in_use_connections == expected


def run(make: Callable[[], Client], test: Callable[[Client], Coroutine[Any, Any, None]]) -> None:
    async def whole() -> None:
        client = make()
        try:
            await test(client)
        finally:
            await client.aclose()
            await asyncio.sleep(0)

    asyncio.run(whole())


@pytest.fixture
def proxy(server: Server) -> Iterator[Proxy]:
    with Proxy() as proxy:
        proxy.target = server.port
        yield proxy


@pytest.mark.parametrize("make", [pooled, scarce, single])
def test_a_thousand_rounds_of_cancelling_at_random_points(
    server: Server, client: redis.Redis, prefix: str, make: Callable[[int], Client]
) -> None:
    chosen = random.Random(0)
    added: set[str] = set()
    taken: list[str] = []
    unknown_adds: set[str] = set()
    unknown_takes = 0

    async def rounds(asyncio_client: Client) -> None:
        nonlocal unknown_takes
        queue = UniqueQueue(asyncio_client, prefix)

        async def one(number: int) -> None:
            nonlocal unknown_takes
            id = f"id-{number}"
            enqueue = number % 2 == 0
            call: Coroutine[Any, Any, Any] = queue.enqueue(id) if enqueue else queue.dequeue()
            task = asyncio.create_task(call)
            match chosen.randrange(4):
                case 0:
                    for _ in range(chosen.randrange(12)):
                        await asyncio.sleep(0)
                case 1:
                    await asyncio.sleep(chosen.random() * 0.001)
                case 2:
                    await asyncio.wait({task}, timeout=chosen.random() * 0.003)
                case 3:
                    await asyncio.wait({task})
            await cancel_until_done(task)
            if task.cancelled() and enqueue:
                unknown_adds.add(id)
            elif task.cancelled():
                unknown_takes += 1
            elif enqueue:
                assert task.result() is True
                added.add(id)
            elif task.result() is not None:
                taken.append(task.result())
            # Whatever this connection is used for next gets its own answer.
            assert await asyncio_client.echo(id) == id.encode()
            assert await queue.position(f"not-{id}") is None

        for number in range(0, ROUNDS, AT_ONCE):
            await asyncio.gather(*(one(number + place) for place in range(AT_ONCE)))
        await nothing_is_borrowed(asyncio_client)

    run(lambda: make(server.port), rounds)

    left = [id.decode() for id in client.zrange(prefix, 0, -1)]
    seen = [*taken, *left]
    assert len(seen) == len(set(seen))
    assert set(seen) <= added | unknown_adds
    # What is neither left nor delivered was taken by a cancelled call, one by each.
    assert len(added - set(seen)) <= unknown_takes
    assert unknown_adds and unknown_takes and taken, "no cancellation hit anything"


@pytest.mark.parametrize("how", ["cancel", "timeout", "wait_for"])
def test_cancelled_while_it_waits_for_the_reply(
    proxy: Proxy, client: redis.Redis, prefix: str, how: str
) -> None:
    async def test(asyncio_client: Client) -> None:
        queue = UniqueQueue(asyncio_client, prefix, Storage.LIST)
        client.rpush(prefix, "a", "b")
        proxy.spoil(b"LPOP", Swallow())
        call = queue.dequeue()
        if how == "cancel":
            task = asyncio.create_task(call)
            await asyncio.sleep(0.05)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        elif how == "timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await call
        else:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call, 0.05)
        await nothing_is_borrowed(asyncio_client)
        assert await queue.size() == 1
        assert await asyncio_client.echo("hello") == b"hello"
        assert await queue.dequeue() == "b"

    run(lambda: pooled(proxy.port), test)


@pytest.mark.parametrize("single_connection", [False, True])
def test_interrupted_while_it_waits_for_the_reply(
    proxy: Proxy, client: redis.Redis, prefix: str, single_connection: bool
) -> None:
    options = {"protocol": 2, "single_connection_client": single_connection}
    with redis.Redis(LOOPBACK, proxy.port, **options) as interrupted:
        queue = uniqfifo.UniqueQueue(interrupted, prefix, Storage.LIST)
        client.rpush(prefix, "a", "b")
        proxy.spoil(b"LPOP", Delay(0.3))
        me = threading.get_ident()
        threading.Timer(0.1, signal.pthread_kill, [me, signal.SIGINT]).start()
        with pytest.raises(KeyboardInterrupt):
            queue.dequeue()
        assert queue.size() == 1
        assert interrupted.echo("hello") == b"hello"
        assert queue.dequeue() == "b"
        pool = interrupted.connection_pool
        assert pool._in_use_connections == (
            {interrupted.connection} if single_connection else set()
        )


def test_cancelled_while_it_connects(proxy: Proxy, prefix: str) -> None:
    async def test(asyncio_client: Client) -> None:
        queue = UniqueQueue(asyncio_client, prefix)
        proxy.spoil(b"SETNAME", Swallow())
        task = asyncio.create_task(queue.enqueue("a"))
        await asyncio.sleep(0.05)
        await cancel_until_done(task)
        assert task.cancelled()
        await nothing_is_borrowed(asyncio_client)
        assert await queue.peek(9) == []
        assert await queue.enqueue("a")

    named = {"client_name": "worker", "host": LOOPBACK, "port": proxy.port}
    run(lambda: Client(protocol=2, **named), test)


def test_cancelled_while_it_waits_for_a_connection(server: Server, prefix: str) -> None:
    async def test(asyncio_client: Client) -> None:
        queue = UniqueQueue(asyncio_client, prefix)
        pool = asyncio_client.connection_pool
        borrowed = [await pool.get_connection() for _ in range(2)]
        tasks = [asyncio.create_task(queue.enqueue(id)) for id in "ab"]
        await asyncio.sleep(0.01)
        async with pool._condition:  # so that the one to be cancelled has to wait for that, too
            await asyncio.sleep(0)
            stop = asyncio.create_task(cancel_until_done(tasks[0]))
            await asyncio.sleep(0.01)
        for connection in borrowed:
            await pool.release(connection)
        await stop
        assert tasks[0].cancelled()
        assert await tasks[1]
        await nothing_is_borrowed(asyncio_client)
        assert await queue.peek(9) == ["b"]

    run(lambda: scarce(server.port), test)


async def cancelled_while_it_gives_back(asyncio_client: Client, prefix: str) -> None:
    queue = UniqueQueue(asyncio_client, prefix)
    await queue.size()
    lock = asyncio_client.connection_pool._condition
    task = asyncio.create_task(queue.enqueue("a"))
    await asyncio.sleep(0)  # it has the connection
    async with lock:
        while not lock._lock._waiters:
            await asyncio.sleep(0.001)
        for _ in range(5):
            task.cancel()
            await asyncio.sleep(0)
    await asyncio.wait({task})
    assert task.cancelled()
    await nothing_is_borrowed(asyncio_client)


def test_cancelled_while_it_gives_the_connection_back(server: Server, prefix: str) -> None:
    run(lambda: scarce(server.port), lambda made: cancelled_while_it_gives_back(made, prefix))


def test_the_same_without_a_guard_leaks_the_connection(
    server: Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_exchange, "unbroken", lambda step: step)

    def leaks(made: Client) -> Coroutine[Any, Any, None]:
        return cancelled_while_it_gives_back(made, prefix)

    with pytest.raises(AssertionError):
        run(lambda: scarce(server.port), leaks)

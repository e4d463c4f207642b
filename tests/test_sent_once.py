"""A request goes out once, and a call that failed says what that means.

Covers B01 (redis/redis-py#3554): a retry re-sends a pop, and the head is lost. The clients here are
those that re-send by default, or were told to.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import cache
from typing import Any

import pytest
import redis
import redis.asyncio
import redis.asyncio.retry
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests.cluster import start_behind
from tests.hosts import Host
from tests.proxy import (
    DELIVERED,
    FORWARDED,
    LOOPBACK,
    REPLY,
    REQUEST,
    Cut,
    Delay,
    Fault,
    Proxy,
    Reset,
    Swallow,
)
from uniqfifo import NotExecuted, OutcomeUnknown, Reason, Storage, scripts
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers("redis-6.2", "valkey-9.1")

TIMEOUT = 0.5
IDS = ["a", "b", "c"]
REPLY_TO_DEQUEUE = b"$1\r\na\r\n"
FAULTS: dict[str, list[Fault]] = {
    "late": [Swallow(), Delay(1.3 * TIMEOUT)],
    "cut": [Cut(after) for after in range(len(REPLY_TO_DEQUEUE))],
    "reset": [Reset(REQUEST), Reset(FORWARDED), Reset(REPLY), Reset(DELIVERED)],
}
REQUEST_FOR = {Storage.LIST: b"LPOP", Storage.ZSET: scripts.ZSET_DEQUEUE.sha.encode()}

RESENDING = {"retry_on_error": [redis.ConnectionError, redis.TimeoutError]}  # 5.3 wants to be told
OPTIONS: dict[str, Any] = {"protocol": 2, "socket_timeout": TIMEOUT}
CLIENTS: dict[str, Callable[[int], Any]] = {
    "redis": lambda port: redis.Redis(
        LOOPBACK, port, retry=Retry(NoBackoff(), 3), **RESENDING, **OPTIONS
    ),
    "redis-asyncio": lambda port: redis.asyncio.Redis(
        host=LOOPBACK,
        port=port,
        retry=redis.asyncio.retry.Retry(NoBackoff(), 3),
        **RESENDING,
        **OPTIONS,
    ),
    "cluster": lambda port: redis.RedisCluster(LOOPBACK, port, **OPTIONS),
    "cluster-asyncio": lambda port: redis.asyncio.RedisCluster(LOOPBACK, port, **OPTIONS),
}


@pytest.fixture(scope="module")
def start_proxied() -> Iterator[Callable[[str], tuple[Proxy, Server]]]:
    with ExitStack() as stack:

        @cache
        def start(binary: str) -> tuple[Proxy, Server]:
            proxy = stack.enter_context(Proxy())
            node, _ = start_behind(stack, proxy, binary)
            return proxy, node

        yield start


@pytest.fixture
def proxied(
    binary: str, start_proxied: Callable[[str], tuple[Proxy, Server]]
) -> tuple[Proxy, Server]:
    """The node of a cluster that has the queue. It says that it is where the proxy is."""
    return start_proxied(binary)


@pytest.fixture(params=CLIENTS)
def host(request: pytest.FixtureRequest, proxied: tuple[Proxy, Server]) -> Iterator[Host]:
    with Host(CLIENTS[request.param](proxied[0].port)) as host:
        yield host


@pytest.fixture(params=REQUEST_FOR)
def storage(request: pytest.FixtureRequest) -> Storage:
    return Storage(request.param)


@pytest.fixture
def judge(proxied: tuple[Proxy, Server]) -> Iterator[redis.Redis]:
    """A client that does not pass through the proxy."""
    with proxied[1].client(decode_responses=True) as judge:
        yield judge


def fill(judge: redis.Redis, storage: Storage) -> None:
    judge.delete("queue")
    if storage is Storage.LIST:
        judge.rpush("queue", *IDS)
    else:
        judge.zadd("queue", {id: place for place, id in enumerate(IDS)})
        judge.script_load(scripts.ZSET_DEQUEUE.text)


def pending(judge: redis.Redis, storage: Storage) -> Any:
    return judge.lrange("queue", 0, -1) if storage is Storage.LIST else judge.zrange("queue", 0, -1)


def eats_one_at_most(
    proxy: Proxy, judge: redis.Redis, storage: Storage, fault: Fault, dequeue: Callable[[], Any]
) -> str | OutcomeUnknown:
    """Spoil one dequeue, see that it went out once and took no more than the head."""
    request = REQUEST_FOR[storage]
    before = proxy.count(request)
    proxy.spoil(request, fault)
    answer: Any
    try:
        answer = dequeue()
    except OutcomeUnknown as error:
        answer = error
    assert proxy.count(request) == before + 1
    left = IDS if fault == Reset(REQUEST) else IDS[1:]
    deadline = time.monotonic() + 5
    while pending(judge, storage) != left and time.monotonic() < deadline:
        time.sleep(0.01)  # the server may get to know it later than the client
    assert pending(judge, storage) == left
    return answer


@pytest.mark.parametrize("kind", FAULTS)
def test_a_spoilt_dequeue_eats_one_at_most(
    proxied: tuple[Proxy, Server], judge: redis.Redis, host: Host, storage: Storage, kind: str
) -> None:
    queue = host.queue("queue", storage)
    for fault in FAULTS[kind]:
        fill(judge, storage)
        answer = eats_one_at_most(proxied[0], judge, storage, fault, queue.dequeue)
        delivered = fault == Reset(DELIVERED) and answer == "a"
        assert delivered or isinstance(answer, OutcomeUnknown), fault

        # Afterwards every answer is that of its own call.
        rest = pending(judge, storage)
        assert queue.size() == len(rest), fault
        assert host.run(host.client.get("nothing")) is None
        assert [queue.dequeue() for _ in range(len(rest) + 1)] == [*rest, None], fault


@pytest.mark.parametrize("fault", [Swallow(), Cut(0)], ids=str)
def test_the_same_through_the_retry_layer_eats_more(
    proxied: tuple[Proxy, Server], judge: redis.Redis, host: Host, storage: Storage, fault: Fault
) -> None:
    def dequeue() -> Any:
        if storage is Storage.LIST:
            return host.run(host.client.lpop("queue"))
        script = host.client.register_script(scripts.ZSET_DEQUEUE.text)
        return host.run(script(keys=["queue"]))

    fill(judge, storage)
    with pytest.raises(AssertionError):
        eats_one_at_most(proxied[0], judge, storage, fault, dequeue)
    assert pending(judge, storage) == ["c"]


@pytest.mark.parametrize("storage", [Storage.ZSET], indirect=True)
def test_a_spoilt_enqueue_adds_once_and_does_not_call_itself_a_duplicate(
    proxied: tuple[Proxy, Server], judge: redis.Redis, host: Host, storage: Storage
) -> None:
    fill(judge, storage)
    judge.script_load(scripts.ZSET_ENQUEUE.text)
    proxied[0].spoil(b"EVALSHA", Swallow())
    queue = host.queue("queue")
    with pytest.raises(OutcomeUnknown):
        queue.enqueue("new")
    assert queue.peek(9) == [*IDS, "new"]


@pytest.mark.parametrize("storage", [Storage.LIST], indirect=True)
def test_without_a_connection_a_call_is_not_executed(
    proxied: tuple[Proxy, Server], judge: redis.Redis, host: Host, storage: Storage
) -> None:
    fill(judge, storage)
    proxy = proxied[0]
    queue = host.queue("queue", storage)
    assert queue.dequeue() == "a"
    with proxy.refusing():
        proxy.drop()
        with pytest.raises(NotExecuted) as caught:
            queue.dequeue()
    assert caught.value.reason is Reason.CONNECTION
    assert pending(judge, storage) == ["b", "c"]
    assert queue.dequeue() == "b"


@pytest.mark.parametrize("storage", [Storage.LIST], indirect=True)
def test_a_connection_that_the_server_closed_is_replaced_before_sending(
    proxied: tuple[Proxy, Server], judge: redis.Redis, host: Host, storage: Storage
) -> None:
    fill(judge, storage)
    queue = host.queue("queue", storage)
    for id in IDS:
        assert queue.dequeue() == id
        proxied[0].drop()
        time.sleep(0.01)

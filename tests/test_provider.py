"""The life cycle of the provider, and wrong types.

Covers B15 (sidekiq-scheduler/sidekiq-scheduler#216): an upgrade changed a key's type.
"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
import redis

import uniqfifo.asyncio
from uniqfifo import (
    NotExecuted,
    NotStarted,
    OutcomeUnknown,
    QueueType,
    Reason,
    RedisQueueProvider,
    StartRefused,
    StartUnknown,
    Storage,
    UniqueQueue,
    WrongKeyType,
)
from uniqfifo._start import StartFailures
from uniqfifo_spec import AsyncInMemoryQueueProvider, InMemoryQueueProvider
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.targets import Awaited

WORK = QueueType.WORKFLOW


def make(kind: str, url: str, prefix: str) -> Any:
    match kind:
        case "redis":
            return RedisQueueProvider(url, prefix)
        case "redis, asyncio":
            return Awaited(uniqfifo.asyncio.RedisQueueProvider(url, prefix))
        case "in memory":
            return InMemoryQueueProvider()
        case _:
            return Awaited(AsyncInMemoryQueueProvider())


@pytest.fixture(params=["redis", "redis, asyncio", "in memory", "in memory, asyncio"])
def provider(request: pytest.FixtureRequest, server: Server, prefix: str) -> Any:
    provider = make(request.param, server.url, prefix)
    yield provider
    provider.stop()


def test_the_fake_and_the_real_provider_behave_alike(provider: Any) -> None:
    with pytest.raises(NotStarted):
        provider.queue_work("a", WORK)
    provider.start()
    assert provider.queue_work("a", WORK)
    assert not provider.queue_work("a", WORK)
    assert provider.queue_work("b", "workflow")
    assert provider.queue_work("a", QueueType.EVENT)
    with pytest.raises(ValueError, match="urgent"):
        provider.queue_work("a", "urgent")
    with pytest.raises(uniqfifo.InvalidId):
        provider.queue_work("", WORK)
    with pytest.raises(TypeError):
        provider.queue_work(7, WORK)
    provider.stop()
    provider.stop()
    with pytest.raises(NotStarted):
        provider.dequeue_work(WORK)
    provider.start()
    assert [provider.dequeue_work(WORK) for _ in range(3)] == ["a", "b", None]
    assert provider.dequeue_work(QueueType.EVENT) == "a"
    assert provider.dequeue_work(QueueType.INDEX) is None


def test_it_is_a_context_manager_and_does_not_block(server: Server, prefix: str) -> None:
    with RedisQueueProvider(server.url, prefix) as queues:
        assert queues.is_dequeue_blocking is False
        queues.queue_work("a", WORK)
    with pytest.raises(NotStarted):
        queues.dequeue_work(WORK)

    async def twin() -> None:
        async with uniqfifo.asyncio.RedisQueueProvider(server.url, prefix) as queues:
            assert queues.is_dequeue_blocking is False
            assert await queues.dequeue_work(WORK) == "a"

    asyncio.run(twin())


def test_the_callers_client_is_neither_changed_nor_closed(server: Server, prefix: str) -> None:
    client = server.client()
    client.ping()
    options = dict(client.connection_pool.connection_kwargs)
    connections = client.client_list()
    with RedisQueueProvider(client, prefix) as queues:
        queues.queue_work("a", WORK)
    assert client.connection_pool.connection_kwargs == options
    assert [each["id"] for each in client.client_list()] == [each["id"] for each in connections]


def test_every_start_migrates_again(server: Server, prefix: str) -> None:
    raw = server.client()
    queues = RedisQueueProvider(server.url, prefix)
    queues.start()
    raw.rpush(f"{prefix}-events", "b", "a", "b")  # a late legacy host
    with pytest.raises(WrongKeyType, match="turns the LIST into a ZSET"):
        queues.dequeue_work(QueueType.EVENT)
    queues.start()
    assert [queues.dequeue_work(QueueType.EVENT) for _ in range(3)] == ["b", "a", None]
    queues.stop()


@pytest.mark.parametrize(
    ("storage", "found", "cure"),
    [
        ("zset", "list", "start(), or migrate()"),
        ("zset-strict", "list", "start(), or migrate()"),
        ("list", "zset", "use the storage zset"),
        ("zset", "string", "choose another prefix"),
        ("list", "hash", "choose another prefix"),
    ],
)
def test_a_wrong_type_names_key_type_and_cure_and_destroys_nothing(
    client: redis.Redis, prefix: str, storage: str, found: str, cure: str
) -> None:
    put = {
        "list": lambda: client.rpush(prefix, "a", "b"),
        "zset": lambda: client.zadd(prefix, {"a": 1}),
        "string": lambda: client.set(prefix, "a"),
        "hash": lambda: client.hset(prefix, "a", "b"),
    }
    put[found]()
    dump = client.dump(prefix)
    queue = UniqueQueue(client, prefix, storage)
    for call in (lambda: queue.enqueue("a"), queue.dequeue, queue.size, queue.peek):
        with pytest.raises(WrongKeyType) as caught:
            call()
        assert (caught.value.key, caught.value.found) == (prefix, found)
        assert caught.value.expected == Storage(storage).key_type
        assert cure in caught.value.cure and cure in str(caught.value)
        assert caught.value.reason is Reason.WRONG_TYPE
    assert client.dump(prefix) == dump


def test_start_tries_all_three_and_names_each_that_is_refused(
    client: redis.Redis, prefix: str
) -> None:
    client.set(f"{prefix}-workflows", "foreign")
    client.rpush(f"{prefix}-events", "a")
    client.hset(f"{prefix}-index", "foreign", "1")
    queues = RedisQueueProvider(client, prefix)
    with pytest.raises(StartRefused) as caught:
        queues.start()
    assert set(caught.value.errors) == {f"{prefix}-workflows", f"{prefix}-index"}
    assert all(isinstance(error, WrongKeyType) for error in caught.value.errors.values())
    assert client.type(f"{prefix}-events") == b"zset"
    with pytest.raises(NotStarted):
        queues.dequeue_work(QueueType.EVENT)


def test_without_a_server_nothing_is_executed() -> None:
    queues = RedisQueueProvider("redis://127.0.0.1:1", "app")
    with pytest.raises(NotExecuted) as caught:
        queues.start()
    assert caught.value.reason is Reason.CONNECTION


@pytest.mark.parametrize("url", ["nonsense", "", "http://127.0.0.1"])
def test_a_wrong_url_is_one_clear_error(url: str) -> None:
    with pytest.raises(ValueError, match="Redis URL must specify"):
        RedisQueueProvider(url, "app")


def test_an_unknown_storage_is_one_clear_error() -> None:
    with pytest.raises(ValueError, match="'stack' is not a valid Storage"):
        UniqueQueue(redis.Redis(), "key", "stack")


def test_a_list_queue_cannot_be_migrated_away_under_its_own_feet(server: Server) -> None:
    with pytest.raises(ValueError, match="choose the storage zset"):
        UniqueQueue(server.client(), "key", "list").migrate()


@pytest.mark.parametrize("storage", Storage)
def test_observers_see_what_the_model_sees(
    client: redis.Redis, prefix: str, storage: Storage
) -> None:
    queue = UniqueQueue(client, prefix, storage)
    pending: list[str] = []
    for id in ("c", "a", "b"):
        assert (queue.size(), queue.peek(9)) == (len(pending), pending)
        assert not queue.contains(id) and queue.position(id) is None
        queue.enqueue(id)
        pending.append(id)
    assert [queue.position(id) for id in pending] == [0, 1, 2]
    assert [queue.peek(n) for n in range(5)] == [pending[:n] for n in range(5)]
    with pytest.raises(ValueError, match="cannot peek"):
        queue.peek(-1)
    assert queue.remove("a") and not queue.remove("a")
    assert [queue.dequeue() for _ in range(3)] == ["c", "b", None]


def test_remove_and_position_know_repetitions(client: redis.Redis, prefix: str) -> None:
    client.rpush(prefix, "a", "b", "a")
    queue = UniqueQueue(client, prefix, Storage.LIST)
    assert (queue.size(), queue.position("a")) == (3, 0)
    assert queue.remove("a")
    assert queue.peek(9) == ["b"]


@pytest.mark.parametrize("no_client", [None, "redis://127.0.0.1", redis.Redis().pipeline()])
def test_what_is_no_client_is_refused_at_once(no_client: object) -> None:
    with pytest.raises(TypeError, match="a client is a "):
        UniqueQueue(no_client, "key")


def test_the_other_kind_of_client_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match="the other kind"):
        UniqueQueue(redis.asyncio.Redis(), "key")
    with pytest.raises(TypeError, match="the other kind"):
        uniqfifo.asyncio.UniqueQueue(redis.Redis(), "key")
    with pytest.raises(TypeError, match="a key is a str"):
        UniqueQueue(redis.Redis(), b"key")  # type: ignore[arg-type]


def test_an_option_that_the_client_does_not_know_is_one_clear_error() -> None:
    with pytest.raises(ValueError, match="an option that the client does not know"):
        RedisQueueProvider("redis://127.0.0.1/0?colour=red", "app").start()


def test_what_was_made_ready_before_the_server_went_is_not_forgotten() -> None:
    gone = NotExecuted(Reason.CONNECTION, "not executed, no connection")
    failures = StartFailures()
    with pytest.raises(NotExecuted), failures.of("first"):
        raise gone

    failures = StartFailures()
    with failures.of("first"):
        pass  # it may have been migrated
    with failures.of("second"):
        raise gone
    with pytest.raises(StartRefused) as refused:
        failures.raise_any()
    assert refused.value.errors == {"second": gone}

    failures = StartFailures()
    with failures.of("first"):
        raise OutcomeUnknown("outcome unknown")
    with failures.of("second"):
        raise gone
    with pytest.raises(StartUnknown) as unknown:
        failures.raise_any()
    assert [*unknown.value.errors] == ["first", "second"]

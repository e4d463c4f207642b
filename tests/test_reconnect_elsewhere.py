"""A call that is refused where it went is tried again where else the queue may be, for a second.

In a cluster other nodes say where that is, and Sentinel names the primary to every new connection.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import chain, repeat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import redis
import redis.asyncio.sentinel
import redis.sentinel

from tests.cluster import move_slot, start_behind
from tests.faults import away, patient, start_replica
from tests.hosts import Host
from tests.proxy import LOOPBACK, Proxy
from tests.sentinel import SERVICE, start_sentinel
from uniqfifo import NotExecuted, OutcomeUnknown, Reason, Storage, UniqueQueue, _once
from uniqfifo.connect import connect, connect_async
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers("redis-6.2", "valkey-9.1")

StartServer = Callable[..., Server]
CLUSTERS: dict[str, Callable[[int], Any]] = {
    "redis": lambda port: redis.RedisCluster(LOOPBACK, port, protocol=2),
    "redis-asyncio": lambda port: redis.asyncio.RedisCluster(LOOPBACK, port, protocol=2),
}


@contextmanager
def cluster_behind(proxy: Proxy, binary: str) -> Iterator[tuple[Server, Server]]:
    with ExitStack() as stack:
        yield start_behind(stack, proxy, binary)


@pytest.mark.parametrize("kind", CLUSTERS)
def test_a_moment_without_a_cluster_s_node_is_bridged(binary: str, kind: str) -> None:
    with Proxy() as proxy, cluster_behind(proxy, binary):
        with Host(CLUSTERS[kind](proxy.port)) as host:
            queue = host.queue("queue")
            assert host.run(host.client.ping())
            with away(proxy):
                assert queue.enqueue("a")
        with Host(connect_async(f"redis+cluster://{LOOPBACK}:{proxy.port}")) as host, away(proxy):
            assert host.queue("queue").dequeue() == "a"  # which has yet to learn of the cluster


@pytest.mark.parametrize("kind", CLUSTERS)
@pytest.mark.parametrize("seconds", [0, 5])
def test_the_node_that_others_name_is_asked_by_the_same_call(
    monkeypatch: pytest.MonkeyPatch, binary: str, kind: str, seconds: float
) -> None:
    """However long it took the one that is gone to be of no use."""
    with ExitStack() as stack:
        proxy = stack.enter_context(Proxy())
        node, other = stack.enter_context(cluster_behind(proxy, binary))
        queue = stack.enter_context(Host(CLUSTERS[kind](proxy.port))).queue("queue")
        assert queue.enqueue("a")
        for _ in move_slot(redis.cluster.key_slot(b"queue"), node, other):
            pass
        with proxy.refusing():
            proxy.drop()
            now = chain([0], repeat(seconds))
            clock = SimpleNamespace(monotonic=now.__next__, sleep=time.sleep)
            monkeypatch.setattr(_once, "time", clock)
            assert queue.dequeue() == "a"


class Naming(redis.sentinel.Sentinel):
    """Names these ports as the primary's, one after the other, and the last one for ever."""

    def __init__(self, *ports: int) -> None:
        super().__init__([], protocol=2, retry=None)
        self.ports = list(ports)

    def discover_master(self, service_name: str) -> tuple[str, int]:
        port = self.ports.pop(0) if len(self.ports) > 1 else self.ports[0]
        if not port:
            raise redis.sentinel.MasterNotFoundError("nobody at the moment")
        return LOOPBACK, port


class NamingAsyncio(redis.asyncio.sentinel.Sentinel):
    """Its twin."""

    def __init__(self, *ports: int) -> None:
        super().__init__([], protocol=2, retry=None)
        self.naming = Naming(*ports)

    async def discover_master(self, service_name: str) -> tuple[str, int]:
        return self.naming.discover_master(service_name)


@pytest.mark.parametrize("kind", [Naming, NamingAsyncio])
@pytest.mark.parametrize("storage", [Storage.LIST, Storage.ZSET])
def test_who_sentinel_names_next_is_asked(
    private_server: StartServer, server_name: str, kind: type[Naming], storage: Storage
) -> None:
    primary, replica = start_replica(private_server, server_name)
    naming = kind(replica.port, 0, replica.port, primary.port)
    with Host(naming.master_for(SERVICE)) as host, patient():
        queue = host.queue("queue", storage)
        assert queue.enqueue("a")
        assert queue.dequeue() == "a"
    with Host(kind(replica.port).master_for(SERVICE)) as host, pytest.raises(NotExecuted) as caught:
        host.queue("queue", storage).dequeue()
    assert caught.value.reason is Reason.READONLY


def test_a_replica_that_nobody_but_the_caller_named_is_asked_once(
    private_server: StartServer, server_name: str
) -> None:
    _, replica = start_replica(private_server, server_name)
    with Proxy() as proxy, connect(f"redis://{LOOPBACK}:{proxy.port}") as client:
        proxy.target = replica.port
        with pytest.raises(NotExecuted) as caught:
            UniqueQueue(client, "queue", Storage.LIST).dequeue()
        assert caught.value.reason is Reason.READONLY
        assert proxy.count(b"LPOP") == 1


@pytest.mark.parametrize("kind", [connect, connect_async])
def test_no_call_is_lost_in_a_failover(
    private_server: StartServer, server_name: str, binary: str, tmp_path: Path, kind: Any
) -> None:
    primary, _ = start_replica(private_server, server_name)
    answers: dict[str, Any] = {}
    with ExitStack() as stack:
        port = start_sentinel(stack, binary, tmp_path, primary)
        host = stack.enter_context(Host(kind(f"redis+sentinel://{LOOPBACK}:{port}/{SERVICE}")))
        queue = host.queue("queue")
        queue.make_ready()
        primary.process.kill()
        deadline = time.monotonic() + 20
        while True not in answers.values() and time.monotonic() < deadline:
            id = f"{len(answers):05}"
            try:
                answers[id] = queue.enqueue(id)
            except (NotExecuted, OutcomeUnknown) as error:
                answers[id] = error
        pending = queue.peek(len(answers))
    assert [id for id in answers if answers[id] is True] == pending[-1:]
    assert all(isinstance(answers[id], OutcomeUnknown) for id in pending[:-1])
    assert len(answers) < 30  # a call that is refused has waited for the new primary

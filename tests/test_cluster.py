"""Real clusters: every key is found, wherever it is and while it moves, and nothing is sent twice.

Covers B27 (screwdriver-cd/screwdriver#3451): a script that touches keys of different slots.
"""

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import cache
from itertools import count, product
from typing import Any

import pytest
import redis
import redis.asyncio
import valkey
import valkey.asyncio
from redis.cluster import LoadBalancingStrategy

import uniqfifo.asyncio
from tests.cluster import (
    ask,
    forget,
    join,
    move_slot,
    moving_about,
    owner_of,
    start_cluster,
    start_node,
)
from tests.faults import await_promotion
from tests.hosts import Host, settle
from tests.proxy import LOOPBACK
from uniqfifo import (
    NotExecuted,
    QueueType,
    Reason,
    RedisQueueProvider,
    Storage,
    UniqueQueue,
    _once,
)
from uniqfifo.connect import connect, connect_async
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers("redis-6.2", "redis-8.2")

CLIENTS: dict[str, Callable[[int], Any]] = {
    "redis": lambda port: redis.RedisCluster(LOOPBACK, port, protocol=2),
    "redis-asyncio": lambda port: redis.asyncio.RedisCluster(LOOPBACK, port, protocol=2),
    "redis-replicas": lambda port: redis.RedisCluster(
        LOOPBACK, port, protocol=2, load_balancing_strategy=LoadBalancingStrategy.ROUND_ROBIN
    ),
    "valkey": lambda port: valkey.ValkeyCluster(LOOPBACK, port),
    "valkey-asyncio": lambda port: valkey.asyncio.ValkeyCluster(LOOPBACK, port),
    "url": lambda port: connect(f"redis+cluster://{LOOPBACK}:1,{LOOPBACK}:{port}"),
    "url-asyncio": lambda port: connect_async(f"redis+cluster://{LOOPBACK}:1,{LOOPBACK}:{port}"),
}
PREFIXES = ("app", "{app}", "a{b", "a{}b", "")


@pytest.fixture(scope="module")
def start_shared() -> Iterator[Callable[[str], list[Server]]]:
    with ExitStack() as stack:
        yield cache(lambda binary: start_cluster(stack, binary))


@pytest.fixture
def nodes(binary: str, start_shared: Callable[[str], list[Server]]) -> list[Server]:
    """Three primaries."""
    return start_shared(binary)


@pytest.fixture(params=CLIENTS)
def host(request: pytest.FixtureRequest, nodes: list[Server]) -> Iterator[Host]:
    with Host(CLIENTS[request.param](nodes[0].port)) as host:
        yield host


@pytest.fixture
def judge(nodes: list[Server]) -> Iterator[redis.RedisCluster]:
    """Follows the cluster itself, and leaves it empty."""
    judge = redis.RedisCluster(LOOPBACK, nodes[0].port, protocol=2)
    yield judge
    judge.flushall(target_nodes=redis.RedisCluster.PRIMARIES)
    judge.close()


def test_every_operation_of_the_three_queues(host: Host, judge: redis.RedisCluster) -> None:
    for prefix, storage in product(PREFIXES, Storage):
        slots = set()
        for kind in QueueType:
            key = kind.key(prefix)
            slots.add(judge.keyslot(key))
            queue = host.queue(key, storage)
            queue.make_ready()
            assert [queue.enqueue(id) for id in "abca"] == [True, True, True, False]
            assert (queue.size(), queue.position("b")) == (3, 1)
            assert queue.peek(9) == ["a", "b", "c"]
            assert queue.remove("b")
            assert [queue.dequeue() for _ in range(3)] == ["a", "c", None]
        # Only a whole pair of braces with something in it keeps the queues together.
        assert len(slots) == (1 if prefix == "{app}" else 3)


def test_a_migration_of_a_list(host: Host, judge: redis.RedisCluster) -> None:
    for kind in QueueType:
        judge.rpush(kind.key("old"), "x", "y", "x")
        queue = host.queue(kind.key("old"))
        queue.make_ready()
        assert queue.peek(9) == ["x", "y"]


def test_a_key_is_followed_through_every_step_of_a_move(
    host: Host, judge: redis.RedisCluster, nodes: list[Server]
) -> None:
    queue = host.queue("moving")
    waiting = (f"{number:03}" for number in count())
    taken = []
    for _ in range(3):
        assert queue.enqueue(next(waiting)) is True
        source = owner_of("moving", nodes)
        target = nodes[nodes.index(source) - 1]
        for _ in move_slot(judge.keyslot("moving"), source, target):
            for _ in range(2):
                assert queue.enqueue(next(waiting)) is True
                taken.append(queue.dequeue())
    rest = queue.peek(1000)
    assert len(rest) == 3
    assert [*taken, *rest] == [f"{number:03}" for number in range(len(taken) + 3)]


class Plainly:
    """A sync queue with the methods of an asyncio one."""

    def __init__(self, queue: UniqueQueue) -> None:
        self._queue = queue

    async def enqueue(self, id: str) -> bool:
        return self._queue.enqueue(id)

    async def dequeue(self) -> str | None:
        return self._queue.dequeue()


@pytest.mark.parametrize("kind", ["redis", "redis-asyncio"])
def test_slots_that_move_under_load(
    nodes: list[Server], judge: redis.RedisCluster, kind: str
) -> None:
    """Nothing is lost and nothing comes twice, though the keys never rest."""
    keys = [queue.key("load") for queue in QueueType]
    added: list[str] = []
    taken: list[str | None] = []

    with moving_about(keys, nodes) as moved:

        async def work(worker: int, queue: Any) -> None:
            for number in count():
                if len(moved) >= 9:
                    return
                id = f"{worker}-{number}"
                assert await queue.enqueue(id) is True
                added.append(id)
                taken.append(await queue.dequeue())

        async def workers(client: Any) -> None:
            each = (uniqfifo.asyncio.UniqueQueue(client, keys[place % 3]) for place in range(6))
            await asyncio.gather(*map(work, range(6), each))
            await client.aclose()
            await settle()

        client = CLIENTS[kind](nodes[0].port)
        if kind == "redis":
            each = [Plainly(UniqueQueue(client, keys[place % 3])) for place in range(6)]
            with client, ThreadPoolExecutor(6) as pool:
                list(pool.map(lambda place: asyncio.run(work(place, each[place])), range(6)))
        else:
            asyncio.run(workers(client))

    left = [id.decode() for key in keys for id in judge.zrange(key, 0, -1)]
    assert sorted([*filter(None, taken), *left]) == sorted(added)
    assert len(added) > 50


def test_a_slot_moves_to_a_node_that_the_clients_do_not_know(
    binary: str, judge: redis.RedisCluster, nodes: list[Server]
) -> None:
    with ExitStack() as stack:
        hosts = [stack.enter_context(Host(make(nodes[0].port))) for make in CLIENTS.values()]
        queues = [host.queue("moving") for host in hosts]
        for queue in queues:
            queue.enqueue("a")
        new = start_node(stack, binary)
        join([*nodes, new])
        for to_new, key in product((True, False), ("other", "moving")):
            source, target = (owner_of(key, nodes), new) if to_new else (new, nodes[0])
            for _ in move_slot(judge.keyslot(key), source, target):
                for queue in queues:
                    assert queue.enqueue("a") is False
        forget(new, nodes)
        assert queues[0].dequeue() == "a"


def test_a_client_of_one_node_is_told_that_it_is_the_wrong_one(nodes: list[Server]) -> None:
    other = next(node for node in nodes if node is not owner_of("moving", nodes))
    with other.client() as client:
        for storage in Storage:
            with pytest.raises(NotExecuted, match=r"redis\+cluster://") as caught:
                UniqueQueue(client, "moving", storage).dequeue()
            assert caught.value.reason is Reason.REDIRECTED


def test_a_cluster_that_cannot_be_reached() -> None:
    url = f"redis+cluster://{LOOPBACK}:1,{LOOPBACK}:2"
    with pytest.raises(NotExecuted) as caught:
        RedisQueueProvider(url, "app").start()
    assert caught.value.reason is Reason.CONNECTION

    async def start() -> None:
        await uniqfifo.asyncio.RedisQueueProvider(url, "app").start()

    with pytest.raises(NotExecuted) as caught:
        asyncio.run(start())
    assert caught.value.reason is Reason.CONNECTION


def test_a_replica_is_promoted_when_asked_and_when_its_primary_is_killed(binary: str) -> None:
    with ExitStack() as stack:
        nodes = start_cluster(stack, binary)
        primary, other = owner_of("queue", nodes), nodes[0]
        if primary is other:
            other = nodes[1]
        replica = start_node(stack, binary)
        join([*nodes, replica])
        ask(replica, "REPLICATE", ask(primary, "MYID"))
        hosts = [stack.enter_context(Host(make(other.port))) for make in CLIENTS.values()]
        queues = {host.queue(f"{{queue}}-{place}"): host for place, host in enumerate(hosts)}
        for queue in queues:
            assert queue.enqueue("a")
        for old, new, promote in (
            (primary, replica, lambda: ask(replica, "FAILOVER")),
            (replica, primary, replica.process.kill),
        ):
            with old.client() as client:
                while client.wait(1, 100) < 1:  # until the other one has it all
                    time.sleep(0.02)
            while not ask(old, "REPLICAS", ask(old, "MYID")):
                time.sleep(0.02)
            promote()
            for queue in queues:
                await_promotion(new, queue, Reason.CLUSTER_DOWN)
        for queue in queues:
            assert queue.enqueue("b") is True
            assert [queue.dequeue() for _ in range(3)] == ["a", "b", None]


@pytest.mark.parametrize("host", ["redis", "redis-asyncio"], indirect=True)
@pytest.mark.parametrize("answers", [3, 99])
def test_try_again_is_tried_again_but_not_for_ever(
    monkeypatch: pytest.MonkeyPatch, host: Host, answers: int
) -> None:
    tried = 0

    def exchange(*arguments: Any) -> Any:
        nonlocal tried
        yield from ()
        tried += 1
        if tried <= answers:
            answer = "TRYAGAIN Multiple keys request during rehashing of slot"
            raise NotExecuted(Reason.REDIRECTED, "") from redis.ResponseError(answer)
        return 7

    monkeypatch.setattr(_once, "exchange", exchange)
    monkeypatch.setattr(_once, "_PATIENCE", 20.0)  # it is the number that ends it here
    if answers == 3:
        assert host.queue("queue").size() == 7
        return
    with pytest.raises(NotExecuted):
        host.queue("queue").size()
    assert tried == 9

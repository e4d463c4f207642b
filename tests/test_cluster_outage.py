"""A cluster that comes back at other addresses is found again where it was found at first."""

from __future__ import annotations

from contextlib import ExitStack
from inspect import signature

import pytest
import redis
import redis.asyncio

from tests.cluster import SLOTS, ask, join, start_node
from tests.hosts import Host
from tests.proxy import LOOPBACK, Proxy

pytestmark = pytest.mark.servers("redis-8.2", "valkey-9.1")  # older ones do not move

CLIENTS = {"redis": redis.RedisCluster, "redis-asyncio": redis.asyncio.RedisCluster}
REMEMBER = "dynamic_startup_nodes"


@pytest.mark.parametrize("kind", CLIENTS)
def test_every_node_has_moved(binary: str, kind: str) -> None:
    if REMEMBER not in signature(CLIENTS[kind]).parameters:
        pytest.skip(f"this redis-py has no {REMEMBER}: it forgets where it found the cluster")
    with ExitStack() as stack:
        entrance, old, new = (stack.enter_context(Proxy()) for _ in range(3))
        node = start_node(stack, binary, announced_port=old.port)
        entrance.target = old.target = new.target = node.port
        ask(node, "ADDSLOTS", *range(SLOTS))
        join([node])

        client = CLIENTS[kind](LOOPBACK, entrance.port, protocol=2, **{REMEMBER: False})
        host = stack.enter_context(Host(client))
        queue = host.queue("queue")
        assert queue.enqueue("a")
        with node.client() as client:
            client.config_set("cluster-announce-port", new.port)
        old.close()
        assert queue.enqueue("b")
        assert [queue.dequeue() for _ in range(3)] == ["a", "b", None]
        assert new.count(b"EVAL") > 0

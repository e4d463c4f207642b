"""`uniqfifo check` and the provider at the URL of a cluster."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests import servers
from tests.cluster import start_cluster
from tests.test_cli import uniqfifo
from uniqfifo import QueueType, RedisQueueProvider

pytestmark = pytest.mark.once


@pytest.mark.servers("redis-6.2", "valkey-9.1")
def test_a_cluster_conforms_and_nothing_is_left_in_it(server_name: str) -> None:
    binary = servers.binary(server_name)
    if binary is None:
        pytest.skip(servers.why_missing(server_name))
    with ExitStack() as stack:
        nodes = start_cluster(stack, str(binary))
        url = f"redis+cluster://127.0.0.1:{nodes[0].port}"
        done = uniqfifo("check", url, "--storage", "zset-strict")
        assert (done.returncode, done.stderr) == (0, "")
        with RedisQueueProvider(url, "app") as queues:  # three slots, most likely on three nodes
            for queue in QueueType:
                assert queues.queue_work("a", queue)
                assert queues.dequeue_work(queue) == "a"
        assert [node.client().keys("*") for node in nodes] == [[], [], []]

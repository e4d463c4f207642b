"""A primary dies, Sentinel promotes its replica, and hosts go on: nothing answered is lost.

The replica is in step when the primary dies, so the rollback clause (DUR-1) is not needed here.
"""

from __future__ import annotations

import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import redis

import uniqfifo.asyncio
from tests import servers
from uniqfifo import QueueError, QueueType, RedisQueueProvider
from uniqfifo_spec.conformance.spawn import Server, spawn
from uniqfifo_spec.conformance.targets import Awaited

pytestmark = pytest.mark.servers("redis-6.2", "redis-8.2", "valkey-9.1")

WORK = QueueType.WORKFLOW


@contextmanager
def sentinel(binary: str, primary: Server, folder: Path) -> Iterator[int]:
    """A Sentinel that watches this primary, alone; its port."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    config = folder / "sentinel.conf"
    config.write_text(
        f"port {port}\nbind 127.0.0.1\ndir {folder}\n"
        f"sentinel monitor queue 127.0.0.1 {primary.port} 1\n"
        "sentinel down-after-milliseconds queue 500\nsentinel failover-timeout queue 3000\n"
    )
    process = subprocess.Popen(
        [binary, str(config), "--sentinel"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        yield port
    finally:
        process.terminate()
        process.wait()


def until(what: Any, seconds: float = 30) -> Any:
    """The first truth that `what` tells, in a limited time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with suppress(redis.RedisError, QueueError):
            if found := what():
                return found
        time.sleep(0.05)
    raise AssertionError("it did not happen in time")


@pytest.mark.parametrize("kind", ["sync", "asyncio"])
def test_hosts_go_on_after_a_promotion(server_name: str, kind: str, tmp_path: Path) -> None:
    found = servers.binary(server_name)
    if found is None:
        pytest.skip(servers.why_missing(server_name))
    binary = str(found)
    with ExitStack() as stack:
        primary = stack.enter_context(spawn(binary))
        replica = stack.enter_context(spawn(binary, "--replicaof", "127.0.0.1", str(primary.port)))
        watching = stack.enter_context(sentinel(binary, primary, tmp_path))
        until(lambda: replica.client().info("replication")["master_link_status"] == "up")
        knows = redis.Redis(port=watching, decode_responses=True)
        until(lambda: knows.execute_command("SENTINEL", "REPLICAS", "queue"))

        url = f"redis+sentinel://127.0.0.1:{watching}/queue?socket_timeout=2"
        queues: Any
        if kind == "sync":
            queues = RedisQueueProvider(url, "app", "zset-strict")
        else:
            queues = Awaited(uniqfifo.asyncio.RedisQueueProvider(url, "app", "zset-strict"))
        queues.start()
        for number in range(20):
            assert queues.queue_work(f"{number:02}", WORK)
        assert queues.dequeue_work(WORK) == "00"
        assert primary.client().wait(1, 5000) == 1

        primary.process.kill()
        with pytest.raises(QueueError):  # the connection is gone; the next one may find nobody yet
            for _ in range(3):
                queues.queue_work("19", WORK)
        assert until(lambda: queues.queue_work("20", WORK))
        assert [queues.dequeue_work(WORK) for _ in range(21)] == [
            *(f"{number:02}" for number in range(1, 21)),
            None,
        ]
        queues.stop()

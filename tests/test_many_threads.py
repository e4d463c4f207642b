"""Many threads, forked processes, and a script cache that is emptied at any moment.

Covers B21 (redis/redis-py#2914): NOSCRIPT, and what it does to the neighbours.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from uniqfifo import NotExecuted, QueueType, Reason, RedisQueueProvider, Storage, UniqueQueue
from uniqfifo_spec.conformance.spawn import Server

THREADS = 200
CALLS = 100 if os.environ.get("UNIQFIFO_DEEP") == "1" else 10  # of each kind in each thread
ROOT = Path(__file__).parents[1]


def repeated(call: Callable[[], Any]) -> Any:
    """With so many threads a call may wait too long for a connection; it may be repeated then."""
    while True:
        try:
            return call()
        except NotExecuted as refused:
            assert refused.reason is Reason.CONNECTION


@pytest.mark.servers("redis-6.2", "redis-8.2")
@pytest.mark.parametrize("storage", Storage)
def test_200_threads_on_one_provider_while_scripts_are_flushed(
    private_server: Callable[..., Server], server_name: str, storage: Storage
) -> None:
    server = private_server(server_name)
    taken: list[str] = []
    done = threading.Event()

    def flush() -> None:
        with server.client() as client:
            while not done.wait(0.001):
                client.script_flush()

    with RedisQueueProvider(server.url, "app", storage) as provider, server.client() as judge:

        def work(thread: int) -> None:
            for number in range(CALLS):
                id = f"{thread}-{number}"
                assert repeated(lambda id=id: provider.queue_work(id, QueueType.EVENT)) is True
                id = repeated(lambda: provider.dequeue_work(QueueType.EVENT))
                assert id is not None
                taken.append(id)

        flusher = threading.Thread(target=flush)
        flusher.start()
        try:
            with ThreadPoolExecutor(THREADS) as pool:
                for _ in pool.map(work, range(THREADS)):
                    pass
        finally:
            done.set()
            flusher.join()
        assert judge.keys() == []
    assert Counter(taken) == Counter(f"{t}-{n}" for t in range(THREADS) for n in range(CALLS))


@pytest.mark.servers("redis-6.2", "valkey-9.1")
def test_a_script_that_the_server_forgot_is_sent_again_unseen_and_runs_once(
    private_server: Callable[..., Server], server_name: str
) -> None:
    server = private_server(server_name)
    with server.client() as client:
        for storage in Storage:
            queue = UniqueQueue(client, f"{storage}", storage)
            for id in ("a", "b"):
                client.script_flush()
                assert queue.enqueue(id) is True
                client.script_flush()
                assert queue.enqueue(id) is False
            client.script_flush()
            assert queue.dequeue() == "a"
            assert queue.peek(9) == ["b"]


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("kind", ["pool", "blocking-pool", "single-connection"])
def test_a_fork_and_its_parent_do_not_read_each_others_answers(
    server: Server, prefix: str, kind: str
) -> None:
    # In a process of its own, since this one may have threads, with which one does not fork.
    script = "import sys; from tests.test_many_threads import fork; fork(*sys.argv[1:])"
    command = [sys.executable, "-c", script, kind, str(server.port), prefix]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    with server.client() as client:
        assert UniqueQueue(client, prefix).size() == 2 * CALLS + 1


def fork(kind: str, port: str, prefix: str) -> None:
    """Use a client, fork, and go on using it on both sides."""
    where: dict[str, Any] = {"host": "127.0.0.1", "port": int(port), "protocol": 2}
    match kind:
        case "pool":
            client = redis.Redis(**where)
        case "blocking-pool":
            client = redis.Redis.from_pool(redis.BlockingConnectionPool(**where))
        case _:
            client = redis.Redis(**where, single_connection_client=True)
    queue = UniqueQueue(client, prefix)
    assert queue.enqueue("warm")
    child = os.fork()
    me = "parent" if child else "child"
    for number in range(CALLS):
        assert queue.enqueue(f"{me}-{number}") is True
        assert queue.contains(f"{me}-never") is False
        assert client.echo(me) == me.encode()
    if not child:
        client.close()
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    client.close()

"""How the queue does when there is much of everything: ids pending, threads, bytes in an id.

    python tests/benchmarks/scale.py [BINARY]

The figures are those of `impl/OPERATIONS.md`. It takes some minutes.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator

import redis

from uniqfifo import QueueType, RedisQueueProvider, Storage, UniqueQueue
from uniqfifo_spec.conformance.spawn import Server, default_binary, spawn

MILLION = 1_000_000
IDS = [f"workflow-{number:013}" for number in range(MILLION)]  # 22 bytes each
CALLS, THREADS, CALLS_OF_A_THREAD = 200, 150, 100


def fill(client: redis.Redis, key: str, storage: Storage, count: int) -> None:
    """Put so many ids there in one go, as enqueue would have."""
    pipe = client.pipeline(transaction=False)
    for start in range(0, count, 10_000):
        part = IDS[start : start + 10_000]
        if storage is Storage.LIST:
            pipe.rpush(key, *part)
        else:
            first = 1_700_000_000_000_000 + start
            pipe.zadd(key, {id: first + place for place, id in enumerate(part)})
    pipe.execute()


def milliseconds(call: Callable[[int], object]) -> float:
    """The median of some calls."""
    taken = []
    for number in range(CALLS):
        began = time.perf_counter()
        call(number)
        taken.append((time.perf_counter() - began) * 1000)
    return statistics.median(taken)


def by_length(client: redis.Redis) -> Iterator[str]:
    for storage in (Storage.LIST, Storage.ZSET, Storage.ZSET_STRICT):
        for count in (1_000, 100_000, MILLION):
            client.flushall()
            fill(client, "queue", storage, count)
            memory = client.memory_usage("queue", samples=0) or 0
            queue = UniqueQueue(client, "queue", storage)
            new = milliseconds(lambda number, queue=queue: queue.enqueue(f"new {number}"))
            last = IDS[count - 1]
            pending = milliseconds(lambda _, queue=queue, last=last: queue.enqueue(last))
            taken = milliseconds(lambda _, queue=queue: queue.dequeue())
            yield (
                f"{storage:12}{count:>10,} pending: {memory / 1e6:7.1f} MB; enqueue a new id "
                f"{new:6.2f} ms, a pending one {pending:6.2f} ms, dequeue {taken:5.2f} ms"
            )


def migration(client: redis.Redis) -> str:
    client.flushall()
    fill(client, "queue", Storage.LIST, MILLION)
    began = time.perf_counter()
    moved = UniqueQueue(client, "queue").migrate()
    return f"migrating {moved:,} ids: {time.perf_counter() - began:.1f} s in one script"


def large_ids(client: redis.Redis) -> Iterator[str]:
    for storage in Storage:
        client.flushall()
        queue = UniqueQueue(client, "queue", storage)
        ids = [f"{number:05}" + "x" * (65_536 - 5) for number in range(CALLS)]
        enqueue = milliseconds(lambda number, q=queue, ids=ids: q.enqueue(ids[number]))
        taken: list[str | None] = []
        dequeue = milliseconds(lambda _, q=queue, taken=taken: taken.append(q.dequeue()))
        assert taken == ids
        yield f"{storage:12}ids of 64 KiB: enqueue {enqueue:.2f} ms, dequeue {dequeue:.2f} ms"


def many_threads(server: Server) -> Iterator[str]:
    for storage in Storage:
        with RedisQueueProvider(server.url, f"threads-{storage}", storage) as provider:
            slowest: list[float] = []
            taken: list[str | None] = []
            threads = [
                threading.Thread(target=work, args=(provider, number, slowest, taken))
                for number in range(THREADS)
            ]
            began = time.perf_counter()
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            seconds = time.perf_counter() - began
        count = THREADS * CALLS_OF_A_THREAD
        assert len({*taken} - {None}) == count
        yield (
            f"{storage:12}{THREADS} threads on one provider: {2 * count / seconds:,.0f} calls "
            f"a second; slowest enqueue {max(slowest) * 1000:.0f} ms"
        )


def work(
    provider: RedisQueueProvider, thread: int, slowest: list[float], taken: list[str | None]
) -> None:
    for number in range(CALLS_OF_A_THREAD):
        began = time.perf_counter()
        assert provider.queue_work(f"{thread} {number}", QueueType.EVENT)
        slowest.append(time.perf_counter() - began)
        taken.append(provider.dequeue_work(QueueType.EVENT))


def main(binary: str) -> None:
    with spawn(binary) as server, server.client() as client:
        told = client.info("server")
        print(
            f"{told.get('valkey_version') or told['redis_version']}, redis-py {redis.__version__}"
        )
        for line in by_length(client):
            print(line, flush=True)
        print(migration(client), flush=True)
        for lines in (large_ids(client), many_threads(server)):
            for line in lines:
                print(line, flush=True)


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else default_binary())

"""Single calls beside redis-py's own script call, in one run: `python tests/benchmarks/client.py`.

Rounds of the two take turns, so that whatever else the machine does strikes both; printed is the
ratio of their medians. The bar: never slower than `register_script`. Where redis-benchmark is on
PATH, its EVALSHA with one client shows what is left to the network and the server.
"""

from __future__ import annotations

import asyncio
import shutil
import statistics
import subprocess
import time
from collections.abc import Awaitable, Callable
from typing import Any

import redis
import redis.asyncio

import uniqfifo.asyncio
from uniqfifo import UniqueQueue, scripts
from uniqfifo_spec.conformance.spawn import Server, default_binary, spawn

ROUNDS, CALLS = 40, 500
Work = Callable[[int], Any]


def medians(*works: Work) -> list[float]:
    """Seconds that one call takes, by each of these; they take turns."""
    times: list[list[float]] = [[] for _ in works]
    for number in range(ROUNDS):
        for place, work in enumerate(works):
            began = time.perf_counter()
            for call in range(CALLS):
                work(number * CALLS + call)
            times[place].append((time.perf_counter() - began) / CALLS)
    return [statistics.median(each) for each in times]


async def async_medians(*works: Callable[[int], Awaitable[Any]]) -> list[float]:
    times: list[list[float]] = [[] for _ in works]
    for number in range(ROUNDS):
        for place, work in enumerate(works):
            began = time.perf_counter()
            for call in range(CALLS):
                await work(number * CALLS + call)
            times[place].append((time.perf_counter() - began) / CALLS)
    return [statistics.median(each) for each in times]


def show(what: str, ours: float, theirs: float) -> None:
    print(
        f"{what:18} {1 / ours:9,.0f} a second, register_script {1 / theirs:9,.0f}: "
        f"{theirs / ours:.2f} x",
        flush=True,
    )


def sync(server: Server) -> None:
    client = server.client()
    queue = UniqueQueue(client, "ours")
    enqueue = client.register_script(scripts.ZSET_ENQUEUE.text)
    dequeue = client.register_script(scripts.ZSET_DEQUEUE.text)
    show(
        "enqueue",
        *medians(
            lambda n: queue.enqueue(f"{n}"), lambda n: enqueue(keys=["theirs"], args=[f"{n}"])
        ),
    )
    show("dequeue", *medians(lambda n: queue.dequeue(), lambda n: dequeue(keys=["theirs"])))


async def asynchronous(server: Server) -> None:
    client = redis.asyncio.Redis(port=server.port, protocol=2)
    queue = uniqfifo.asyncio.UniqueQueue(client, "ours")
    enqueue = client.register_script(scripts.ZSET_ENQUEUE.text)
    dequeue = client.register_script(scripts.ZSET_DEQUEUE.text)
    show(
        "enqueue, asyncio",
        *await async_medians(
            lambda n: queue.enqueue(f"{n}"), lambda n: enqueue(keys=["theirs"], args=[f"{n}"])
        ),
    )
    show(
        "dequeue, asyncio",
        *await async_medians(lambda n: queue.dequeue(), lambda n: dequeue(keys=["theirs"])),
    )
    await client.aclose()


def beside_redis_benchmark(server: Server) -> None:
    binary = shutil.which("redis-benchmark") or shutil.which("valkey-benchmark")
    if binary is None:
        print("redis-benchmark is not on PATH")
        return
    client = server.client()
    client.delete("ours")
    queue = UniqueQueue(client, "ours")
    (ours,) = medians(lambda n: queue.enqueue(f"{n}"))
    command = [
        binary,
        "-p",
        str(server.port),
        "-c",
        "1",
        "-n",
        str(ROUNDS * CALLS),
        "-r",
        "1000000",
    ]
    command += ["--csv", "EVALSHA", scripts.ZSET_ENQUEUE.sha, "1", "bench", "__rand_int__"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    theirs = float(done.stdout.strip().splitlines()[-1].split('","')[1].strip('"'))
    print(
        f"{'enqueue':18} {1 / ours:9,.0f} a second, redis-benchmark {theirs:9,.0f}: "
        f"{1 / ours / theirs:.2f} x"
    )


def main() -> None:
    with spawn(default_binary()) as server:
        print(f"redis-py {redis.__version__}")
        sync(server)
        asyncio.run(asynchronous(server))
        beside_redis_benchmark(server)


if __name__ == "__main__":
    main()

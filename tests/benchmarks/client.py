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
from collections.abc import Callable
from typing import Any

import redis
import redis.asyncio

import uniqfifo.asyncio
from uniqfifo import UniqueQueue, scripts
from uniqfifo.scripts import Script
from uniqfifo_spec.conformance.spawn import Server, default_binary, spawn

ROUNDS, CALLS = 400, 50
IDS = [f"{number}" for number in range(ROUNDS * CALLS)]
Work = Callable[[str], Any]


def medians(*works: Work) -> list[float]:
    """Seconds that one call takes, by each of these; they take turns."""
    times: list[list[float]] = [[] for _ in works]
    for start in range(0, len(IDS), CALLS):
        for work, taken in zip(works, times, strict=True):
            began = time.perf_counter()
            for id in IDS[start : start + CALLS]:
                work(id)
            taken.append((time.perf_counter() - began) / CALLS)
    return [statistics.median(taken) for taken in times]


async def medians_async(*works: Work) -> list[float]:
    times: list[list[float]] = [[] for _ in works]
    for start in range(0, len(IDS), CALLS):
        for work, taken in zip(works, times, strict=True):
            began = time.perf_counter()
            for id in IDS[start : start + CALLS]:
                await work(id)
            taken.append((time.perf_counter() - began) / CALLS)
    return [statistics.median(taken) for taken in times]


def works(client: Any, queue: Any) -> dict[str, tuple[Work, Work]]:
    """Our calls, each with the same one by a registered script on a key of its own."""
    enqueue = client.register_script(scripts.ZSET_ENQUEUE.text)
    dequeue = client.register_script(scripts.ZSET_DEQUEUE.text)
    return {
        "enqueue": (queue.enqueue, lambda id: enqueue(keys=["theirs"], args=[id])),
        "dequeue": (lambda id: queue.dequeue(), lambda id: dequeue(keys=["theirs"])),
    }


def by_redis_benchmark(server: Server, script: Script, *arguments: str) -> float | None:
    """Seconds that one call takes there; None where it is not installed."""
    binary = shutil.which("redis-benchmark") or shutil.which("valkey-benchmark")
    if binary is None:
        return None
    command = [binary, "-p", f"{server.port}", "-c", "1", "-n", f"{len(IDS)}", "-r", "1000000"]
    command += ["--csv", "EVALSHA", script.sha, "1", "bench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return 1 / float(done.stdout.strip().splitlines()[-1].split('","')[1].strip('"'))


def show(what: str, ours: float, theirs: float, bare: float | None) -> None:
    print(
        f"{what:18} {1 / ours:7,.0f} a second: {theirs / ours:.2f} x register_script"
        + (f", {bare / ours:.2f} x redis-benchmark" if bare else ""),
        flush=True,
    )


async def asynchronous(server: Server, bare: dict[str, float | None]) -> None:
    client = redis.asyncio.Redis(port=server.port, protocol=2)
    for what, pair in works(client, uniqfifo.asyncio.UniqueQueue(client, "ours")).items():
        show(f"{what}, asyncio", *await medians_async(*pair), bare[what])
    await client.aclose()


def main() -> None:
    with spawn(default_binary()) as server, server.client() as client:
        print(f"redis-py {redis.__version__}")
        queue = UniqueQueue(client, "ours")
        queue.enqueue("a")
        queue.dequeue()  # from now on the server knows both scripts
        bare = {
            "enqueue": by_redis_benchmark(server, scripts.ZSET_ENQUEUE, "__rand_int__"),
            "dequeue": by_redis_benchmark(server, scripts.ZSET_DEQUEUE),
        }
        for what, pair in works(client, queue).items():
            show(what, *medians(*pair), bare[what])
        asyncio.run(asynchronous(server, bare))


if __name__ == "__main__":
    main()

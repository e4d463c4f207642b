"""A client process: hosts that enqueue and dequeue, and write down every call.

    python -m tests.robustness.worker '{…}'        a `Plan` as JSON

It says `ready`, and obeys lines on standard input until that ends:

- `go FILE`: the hosts begin, and log to this file
- `fork SECONDS`: a child of this process goes on beside it for so long, with the same clients
- `pause`: they end their calls; then it says how many bytes of memory it holds
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from random import Random
from typing import Any

from tests.robustness import clients
from tests.robustness.log import ANSWERED, Log
from uniqfifo import Reason

AFTER_FAILURE = 0.01  # seconds


@dataclass(frozen=True)
class Plan:
    """What the hosts of one process do.

    - `kind`, `target`: their client, see `clients`
    - `queues`: the storage of each key; a host works on one key
    - `hosts`: how many there are for each key
    - `ids`: how many ids they choose from
    - `lifetime`: seconds after which these are others, the same ones for all hosts; 0: never
    - `pause`: seconds between the calls of a host, on average
    - `cancels`: the share of calls that are cancelled, at any moment (asyncio only)
    - `late`: whether it is the fault that lets them begin
    - `implementation`: ours, or a wrong one by its name
    """

    name: str
    kind: str
    target: dict[str, Any]
    queues: dict[str, str]
    seed: int
    hosts: int = 1
    ids: int = 300
    lifetime: float = 0.0
    pause: float = 0.004
    cancels: float = 0.0
    late: bool = False
    implementation: str = "ours"

    def to_json(self) -> str:
        return json.dumps(asdict(self))


class Worker:
    """The hosts of one process.

    With a sync client each has a thread; with an asyncio client all share one thread and its loop.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._open = clients.Opened(plan.kind, plan.target, plan.implementation)
        self._loop = asyncio.new_event_loop() if self._open.is_asyncio else None
        if self._loop:
            threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self._going = False
        self._hosts: list[Future[None]] = []
        self._child: int | None = None

    def go(self, path: str, suffix: str = "") -> None:
        """Let the hosts begin. The suffix tells those of a child from those of its parent."""
        self._path = path
        self._log = Log(path)
        self._going = True
        works = [
            self._work(f"{self._plan.name}.{number}{suffix}", key, storage)
            for number in range(self._plan.hosts)
            for key, storage in self._plan.queues.items()
        ]
        pool = ThreadPoolExecutor(len(works))
        self._hosts = [self._begin(pool, work) for work in works]

    def _begin(self, pool: ThreadPoolExecutor, work: Coroutine[Any, Any, None]) -> Future[None]:
        if self._loop:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        return pool.submit(asyncio.run, work)

    def pause(self) -> None:
        """Let every host end its call. Errors of a host that are no call's are raised."""
        self._going = False
        for host in self._hosts:
            host.result()
        self._log.close()
        if self._child is not None:
            os.waitpid(self._child, 0)
            self._child = None

    def fork(self, seconds: float) -> None:
        """Between two calls: the child takes the warm client with it."""
        self.pause()
        child = os.fork()
        self.go(self._path, suffix="" if child else " child")
        if child:
            self._child = child
            return
        time.sleep(seconds)
        self.pause()
        os._exit(0)

    async def _work(self, host: str, key: str, storage: str) -> None:
        random = Random(f"{self._plan.seed} {host} {key}")
        queue = self._open.queue(key, storage)
        await self._make_ready(host, key, queue)
        while self._going:
            # Three of five enqueue, so that some ids are pending and a pending one is often met.
            id = self._id(random) if random.random() < 0.6 else None
            call = queue.dequeue() if id is None else queue.enqueue(id)
            if random.random() < self._plan.cancels:
                call = asyncio.ensure_future(call)
                asyncio.get_running_loop().call_later(random.uniform(0, 0.002), call.cancel)
            with (
                suppress(asyncio.CancelledError),
                self._log.call(host, "enqueue" if id else "dequeue", key, id) as noted,
            ):
                noted.answer = await call
            if noted.why == Reason.WRONG_TYPE:
                await self._make_ready(host, key, queue)
            pause = random.expovariate(1 / self._plan.pause) if self._plan.pause else 0
            await asyncio.sleep(pause if noted.outcome == ANSWERED else max(pause, AFTER_FAILURE))

    def _id(self, random: Random) -> str:
        id = f"{random.randrange(self._plan.ids)}"
        lifetime = self._plan.lifetime
        return f"{id} {time.monotonic() // lifetime:.0f}" if lifetime else id

    async def _make_ready(self, host: str, key: str, queue: Any) -> None:
        with self._log.call(host, "start", key):
            await queue.make_ready()


def memory() -> int:
    """Bytes that this process holds."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def orders() -> Iterator[list[str]]:
    for line in sys.stdin:
        yield line.rstrip("\n").split(maxsplit=1)


def main(argument: str) -> None:
    worker = Worker(Plan(**json.loads(argument)))
    print("ready", flush=True)
    for order in orders():
        match order:
            case ["go", path]:
                worker.go(path)
            case ["fork", seconds]:
                worker.fork(float(seconds))
            case ["pause"]:
                worker.pause()
                print(memory(), flush=True)
    os._exit(0)  # whatever is left in the loop


if __name__ == "__main__":
    main(sys.argv[1])

"""Sync and asyncio clients behind the same plain calls."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import Any, Self

import uniqfifo.asyncio
from uniqfifo import Storage, UniqueQueue
from uniqfifo.connect import close, close_async


class Host:
    """A client of any kind and queues over it; what has to be awaited is."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._runner = asyncio.Runner() if hasattr(client, "aclose") else None

    def run(self, value: Any) -> Any:
        """What a method of the client answered."""
        if self._runner is None:
            return value

        async def awaited(value: Awaitable[Any]) -> Any:
            return await value

        return self._runner.run(awaited(value))

    def queue(self, key: str, storage: Storage | str = Storage.ZSET) -> Queue:
        kind = uniqfifo.asyncio.UniqueQueue if self._runner else UniqueQueue
        return Queue(self, kind(self.client, key, storage))

    def close(self) -> None:
        if self._runner is None:
            return close(self.client)
        self.run(close_async(self.client))
        self.run(settle())
        self._runner.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


async def settle() -> None:
    """Let clients finish what they do in the background: they close connections there."""
    await asyncio.sleep(0)
    if tasks := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(tasks, timeout=5)
    await asyncio.sleep(0)  # transports close one turn later


class Queue:
    """A queue of a host; every method is a plain one."""

    def __init__(self, host: Host, queue: Any) -> None:
        self._host = host
        self._queue = queue

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self._host.run(getattr(self._queue, name)(*arguments))

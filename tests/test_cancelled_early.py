"""A cancellation is never swallowed, at whichever turn of the event loop it comes."""

from __future__ import annotations

import asyncio

import pytest

from uniqfifo import QueueType
from uniqfifo.asyncio import RedisQueueProvider
from uniqfifo_spec.conformance.spawn import Server

WORK = QueueType.WORKFLOW


@pytest.mark.parametrize("turns", range(9))
def test_a_cancelled_call_is_cancelled(server: Server, prefix: str, turns: int) -> None:
    async def main() -> None:
        async with RedisQueueProvider(server.url, prefix) as queues:
            await queues.queue_work("a", WORK)
            call = asyncio.create_task(queues.dequeue_work(WORK))
            for _ in range(turns):
                await asyncio.sleep(0)
            if not call.done():
                call.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await call
            # 0 or 1 gone, and no answer has crossed.
            assert await queues.dequeue_work(WORK) in ("a", None)
            assert await queues.queue_work("b", WORK)
            assert await queues.dequeue_work(WORK) == "b"

    asyncio.run(main())


def test_a_timeout_is_a_timeout(server: Server, prefix: str) -> None:
    async def main() -> None:
        async with RedisQueueProvider(server.url, prefix) as queues:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0):
                    await queues.dequeue_work(WORK)

    asyncio.run(main())

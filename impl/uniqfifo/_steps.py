"""One text for sync and asyncio clients.

A call is a generator of *steps*. It yields what a client's method gave it and gets back the value:
from a sync client that is the same thing, from an asyncio client it has to be awaited.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any, TypeVar

T = TypeVar("T")
Steps = Generator[Any, Any, T]


def run(steps: Steps[T]) -> T:
    """The result of the steps with a sync client."""
    value = None
    try:
        while True:
            value = steps.send(value)
    except StopIteration as end:
        result: T = end.value
        return result


async def run_async(steps: Steps[T]) -> T:
    """The result of the steps with an asyncio client."""
    task = asyncio.current_task()
    assert task
    cancellations = task.cancelling()
    resume: Callable[[Any], Any] = steps.send
    value = None
    try:
        while True:
            value = resume(value)
            resume = steps.send
            if hasattr(value, "__await__"):
                try:
                    value = await value
                    # Up to Python 3.11 asyncio.wait_for, in which clients send, may swallow one.
                    if task.cancelling() > cancellations:
                        raise asyncio.CancelledError
                except BaseException as error:
                    resume, value = steps.throw, error
                cancellations = task.cancelling()
    except StopIteration as end:
        result: T = end.value
        return result


# Cancelling. Some frameworks cancel a task again and again until it has ended, so what cleans up
# after one cancellation has to withstand the next.


def unbroken(step: Any) -> Any:
    """A step that no cancellation interrupts: one that comes meanwhile is raised after it."""
    return _Unbroken(step) if hasattr(step, "__await__") else step


class _Unbroken:
    # No task is made: work that does not have to wait, as mostly, is done as fast as ever.
    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work

    def __await__(self) -> Generator[Any, Any, Any]:
        cancelled: asyncio.CancelledError | None = None
        try:
            while True:
                future = self._work.send(None) or asyncio.ensure_future(asyncio.sleep(0))
                # The work waits for this future. We wait beside it, so it outlives a cancellation.
                future._asyncio_future_blocking = False
                while not future.done():
                    try:
                        yield from asyncio.wait({future}).__await__()
                    except asyncio.CancelledError as cancellation:
                        cancelled = cancellation
        except StopIteration as end:
            return end.value
        finally:
            if cancelled:
                raise cancelled


async def cancelled_once(
    work: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, Any]]
) -> T:
    """Do the work in a task of its own, which no more than one cancellation reaches.

    If it succeeds in spite of that, its result is undone.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await unbroken(_undone(task, undo))
        raise
    return task.result()


async def _undone(task: asyncio.Future[T], undo: Callable[[T], Awaitable[Any]]) -> None:
    await asyncio.wait({task})
    if not task.cancelled() and not task.exception():
        await undo(task.result())

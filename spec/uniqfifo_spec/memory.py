"""The model as a fake: uniqfifo's providers without Redis, for tests of applications.

Ids, errors and life cycle are uniqfifo's own; the queues are `fifo.py`, unchanged. Two of these
objects share nothing: hand the same one to everyone who should see the same queues.
"""

from threading import Lock
from typing import Literal, Self

from uniqfifo.errors import NotStarted
from uniqfifo.storage import QueueType, decode_id, encode_id
from uniqfifo_spec import fifo


class InMemoryQueueProvider:
    """A drop-in fake for `uniqfifo.RedisQueueProvider`; FIFO whatever the storage would be."""

    is_dequeue_blocking: Literal[False] = False

    def __init__(self) -> None:
        self._pending: dict[QueueType, fifo.Pending] = dict.fromkeys(QueueType, ())
        self._started = False
        self._lock = Lock()

    def start(self) -> None:
        """Serve calls. What was pending at stop() still is."""
        self._started = True

    def stop(self) -> None:
        """Refuse calls until the next start(). Harmless twice."""
        self._started = False

    def queue_work(self, id: str, queue: QueueType) -> bool:
        """Enqueue `id`: True if it was added, False if it is pending already."""
        queue, wire = self._checked(queue), encode_id(id)
        with self._lock:
            added, self._pending[queue] = fifo.enqueue(self._pending[queue], wire)
        return added

    def dequeue_work(self, queue: QueueType) -> str | None:
        """Take out the id that has been pending longest; None if there is none."""
        queue = self._checked(queue)
        with self._lock:
            head, self._pending[queue] = fifo.dequeue(self._pending[queue])
        return None if head is None else decode_id(head)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _checked(self, queue: QueueType) -> QueueType:
        if not self._started:
            raise NotStarted
        return QueueType(queue)


class AsyncInMemoryQueueProvider:
    """A drop-in fake for `uniqfifo.asyncio.RedisQueueProvider`: the same, awaited."""

    is_dequeue_blocking: Literal[False] = False

    def __init__(self) -> None:
        self._provider = InMemoryQueueProvider()

    async def start(self) -> None:
        self._provider.start()

    async def stop(self) -> None:
        self._provider.stop()

    async def queue_work(self, id: str, queue: QueueType) -> bool:
        return self._provider.queue_work(id, queue)

    async def dequeue_work(self, queue: QueueType) -> str | None:
        return self._provider.dequeue_work(queue)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

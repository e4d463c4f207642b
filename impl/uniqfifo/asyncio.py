"""The asyncio twins of `UniqueQueue` and `RedisQueueProvider`: only the awaiting differs.

What their methods do is said at the originals.
"""

from typing import Any, Literal, Self, TypeVar

from uniqfifo._calls import Call, Calls
from uniqfifo._once import call_async
from uniqfifo._route import route_to
from uniqfifo._start import StartFailures, warn_of_eviction
from uniqfifo.connect import close_async, opener_async
from uniqfifo.errors import NotExecuted, NotStarted, QueueError, Reason
from uniqfifo.storage import QueueType, Storage

T = TypeVar("T")


class UniqueQueue:
    """See `uniqfifo.UniqueQueue`. `client` is an asyncio client."""

    def __init__(self, client: Any, key: str, storage: Storage | str = Storage.ZSET) -> None:
        self._calls = Calls(key, Storage(storage))
        self._route = route_to(client, key, awaited=True)

    @property
    def key(self) -> str:
        return self._calls.key

    async def enqueue(self, id: str) -> bool:
        return await self._call(self._calls.enqueue(id))

    async def dequeue(self) -> str | None:
        return await self._call(self._calls.dequeue())

    async def size(self) -> int:
        return await self._call(self._calls.size())

    async def position(self, id: str) -> int | None:
        return await self._call(self._calls.position(id))

    async def contains(self, id: str) -> bool:
        return await self.position(id) is not None

    async def peek(self, count: int = 1) -> list[str]:
        return await self._call(self._calls.peek(count))

    async def remove(self, id: str) -> bool:
        return await self._call(self._calls.remove(id))

    async def migrate(self) -> int:
        return await self._call(self._calls.migrate())

    async def roll_back(self) -> int:
        return await self._call(self._calls.roll_back())

    async def make_ready(self) -> None:
        if self._calls.storage is not Storage.LIST:
            await self.migrate()
        elif (found := await self._call(self._calls.type())) not in ("none", "list"):
            raise self._calls.wrong_type(found)

    async def evicted_by(self) -> str | None:
        return await self._if_told(self._calls.eviction())

    async def _call(self, wanted: Call[T]) -> T:
        try:
            return await call_async(self._route, wanted)
        except NotExecuted as error:
            if error.reason is not Reason.WRONG_TYPE:
                raise
            found = await self._if_told(self._calls.type())
            raise self._calls.wrong_type(found) from error

    async def _if_told(self, wanted: Call[T]) -> T | None:
        try:
            return await call_async(self._route, wanted)
        except QueueError:
            return None


class RedisQueueProvider:
    """See `uniqfifo.RedisQueueProvider`. Takes a URL or an asyncio client."""

    is_dequeue_blocking: Literal[False] = False

    def __init__(
        self, url_or_client: Any, prefix: str, storage: Storage | str = Storage.ZSET
    ) -> None:
        self._open = opener_async(url_or_client) if isinstance(url_or_client, str) else None
        self._client = None if self._open else url_or_client
        self._prefix = prefix
        self._storage = Storage(storage)
        self._queues: dict[QueueType, UniqueQueue] = {}

    async def start(self) -> None:
        self._queues = {}
        try:
            if self._open and self._client is None:
                self._client = self._open()
            queues = {
                queue: UniqueQueue(self._client, queue.key(self._prefix), self._storage)
                for queue in QueueType
            }
            failures = StartFailures()
            for queue in queues.values():
                with failures.of(queue.key):
                    await queue.make_ready()
            failures.raise_any()
            warn_of_eviction({queue.key: await queue.evicted_by() for queue in queues.values()})
        except BaseException:
            await self.stop()
            raise
        self._queues = queues

    async def stop(self) -> None:
        self._queues = {}
        if self._open and self._client is not None:
            client, self._client = self._client, None
            await close_async(client)

    async def queue_work(self, id: str, queue: QueueType) -> bool:
        return await self._queue(queue).enqueue(id)

    async def dequeue_work(self, queue: QueueType) -> str | None:
        return await self._queue(queue).dequeue()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.stop()

    def _queue(self, queue: QueueType) -> UniqueQueue:
        if not self._queues:
            raise NotStarted
        return self._queues[QueueType(queue)]

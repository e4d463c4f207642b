"""WorkflowCore's queue provider: three queues under one prefix, and a life cycle."""

from typing import Any, Literal, Self

from uniqfifo._queue import UniqueQueue
from uniqfifo._start import StartFailures, warn_of_eviction
from uniqfifo.connect import close, opener
from uniqfifo.errors import NotStarted
from uniqfifo.storage import QueueType, Storage


class RedisQueueProvider:
    """Queues of workflow, event and index ids on the keys `{prefix}-workflows`, `{prefix}-events`
    and `{prefix}-index`.

    `url_or_client` is a URL as in `uniqfifo.connect`, or a sync client, which is neither changed
    nor closed. All methods raise `NotExecuted` or `OutcomeUnknown` when they fail, and are safe to
    use from many threads. As a context manager it starts and stops.
    """

    is_dequeue_blocking: Literal[False] = False
    """A dequeue answers at once, whether or not anything is pending."""

    def __init__(
        self, url_or_client: Any, prefix: str, storage: Storage | str = Storage.ZSET
    ) -> None:
        self._open = opener(url_or_client) if isinstance(url_or_client, str) else None
        self._client = None if self._open else url_or_client
        self._prefix = prefix
        self._storage = Storage(storage)
        self._queues: dict[QueueType, UniqueQueue] = {}  # none, unless it is started

    def start(self) -> None:
        """Make all three queues ready: migrate each LIST, or for `list` check each key's type.

        Raises StartRefused or StartUnknown if one of them is not, after trying all three, and
        NotExecuted without a server. Starting again checks and migrates again. Logs a warning, as
        `uniqfifo`, if the server may evict a queue and says so.
        """
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
                    queue.make_ready()
            failures.raise_any()
            warn_of_eviction({queue.key: queue.evicted_by() for queue in queues.values()})
        except BaseException:
            self.stop()
            raise
        self._queues = queues

    def stop(self) -> None:
        """End the service; start() begins it again. Harmless twice."""
        self._queues = {}
        if self._open and self._client is not None:
            client, self._client = self._client, None
            close(client)

    def queue_work(self, id: str, queue: QueueType) -> bool:
        """Enqueue `id`: True if it was added, False if it is pending already."""
        return self._queue(queue).enqueue(id)

    def dequeue_work(self, queue: QueueType) -> str | None:
        """Take out the id that has been pending longest; None if there is none."""
        return self._queue(queue).dequeue()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def _queue(self, queue: QueueType) -> UniqueQueue:
        if not self._queues:
            raise NotStarted
        return self._queues[QueueType(queue)]

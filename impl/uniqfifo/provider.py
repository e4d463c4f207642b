"""WorkflowCore's queue provider: three queues under one prefix, and a life cycle."""

from collections.abc import Mapping
from typing import Any, Literal, Self

import redis

from uniqfifo._queue import UniqueQueue
from uniqfifo._start import StartFailures
from uniqfifo.errors import NotStarted
from uniqfifo.storage import QueueType, Storage

CLIENT_OPTIONS: Mapping[str, Any] = {
    "protocol": 2,
    "socket_timeout": 5.0,
    "socket_connect_timeout": 5.0,
    "timeout": 5.0,
    "max_connections": 50,
}
"""For clients made from a URL; the URL's own query may say otherwise. Times are in seconds;
`timeout` is how long a call waits for a free connection. RESP2 is what every server speaks."""


class RedisQueueProvider:
    """Queues of workflow, event and index ids on the keys `{prefix}-workflows`, `{prefix}-events`
    and `{prefix}-index`.

    `url_or_client` is a redis URL or a `redis.Redis`, which is neither changed nor closed. All
    methods raise `NotExecuted` or `OutcomeUnknown` when they fail, and are safe to use from many
    threads. As a context manager it starts and stops.
    """

    is_dequeue_blocking: Literal[False] = False
    """A dequeue answers at once, whether or not anything is pending."""

    def __init__(
        self, url_or_client: Any, prefix: str, storage: Storage | str = Storage.ZSET
    ) -> None:
        self._owns_client = isinstance(url_or_client, str)
        self._client = _connect(url_or_client) if self._owns_client else url_or_client
        self._queues = {
            queue: UniqueQueue(self._client, queue.key(prefix), storage) for queue in QueueType
        }
        self._started = False

    def start(self) -> None:
        """Make all three queues ready: migrate each LIST, or for `list` check each key's type.

        Raises StartRefused or StartUnknown if one of them is not, after trying all three. Starting
        again checks and migrates again.
        """
        self._started = False
        failures = StartFailures()
        for queue in self._queues.values():
            with failures.of(queue.key):
                queue.make_ready()
        failures.raise_any()
        self._started = True

    def stop(self) -> None:
        """End the service; start() begins it again. Harmless twice."""
        self._started = False
        if self._owns_client:
            self._client.close()

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
        if not self._started:
            raise NotStarted
        return self._queues[QueueType(queue)]


def _connect(url: str) -> redis.Redis:
    pool = redis.BlockingConnectionPool.from_url(url, **CLIENT_OPTIONS)
    return redis.Redis.from_pool(pool)  # closes the pool with itself

"""One queue on one key."""

from typing import Any, TypeVar

from uniqfifo._calls import Call, Calls
from uniqfifo._once import call
from uniqfifo._route import route_to
from uniqfifo.errors import NotExecuted, QueueError, Reason
from uniqfifo.storage import Storage

T = TypeVar("T")


class UniqueQueue:
    """A unique pending FIFO queue: an id is pending at most once, and ids leave in the order in
    which they became pending.

    `client` is a `redis.Redis`, a `RedisCluster`, or one of valkey-py's; it is neither changed nor
    closed. `key` is the Redis key, `storage` how the ids lie there. Nothing is sent before the
    first call. All methods raise `NotExecuted` or `OutcomeUnknown` when they fail, and are safe to
    use from many threads.
    """

    def __init__(self, client: Any, key: str, storage: Storage | str = Storage.ZSET) -> None:
        self._calls = Calls(key, Storage(storage))
        self._route = route_to(client, key, awaited=False)

    @property
    def key(self) -> str:
        """The Redis key."""
        return self._calls.key

    def enqueue(self, id: str) -> bool:
        """Append `id` and answer True, or answer False and change nothing if it is pending."""
        return self._call(self._calls.enqueue(id))

    def dequeue(self) -> str | None:
        """Take out the id that has been pending longest; None if there is none."""
        return self._call(self._calls.dequeue())

    def size(self) -> int:
        """How many ids are pending."""
        return self._call(self._calls.size())

    def position(self, id: str) -> int | None:
        """How many ids are before `id`; None if it is not pending. Scans a `list`."""
        return self._call(self._calls.position(id))

    def contains(self, id: str) -> bool:
        """Whether `id` is pending. Scans a `list`."""
        return self.position(id) is not None

    def peek(self, count: int = 1) -> list[str]:
        """The first `count` ids, head first; they stay pending."""
        return self._call(self._calls.peek(count))

    def remove(self, id: str) -> bool:
        """Take `id` out wherever it is; False if it was not pending."""
        return self._call(self._calls.remove(id))

    def migrate(self) -> int:
        """Turn a LIST into a ZSET in place and answer how many ids were moved.

        Harmless to repeat, and from many hosts at once. Blocks the server meanwhile.
        """
        return self._call(self._calls.migrate())

    def roll_back(self) -> int:
        """Turn a ZSET into a LIST in place, in leaving order, and answer how many ids were moved.

        The way back from migrate(), for the storage `list`; ValueError for the others. Harmless to
        repeat. Blocks the server meanwhile. Stop every host of `zset` and `zset-strict` first: from
        then on their calls raise WrongKeyType, and the next that starts migrates the key again.
        """
        return self._call(self._calls.roll_back())

    def make_ready(self) -> None:
        """What start() does for this queue: migrate it, or check that `list` can use its key."""
        if self._calls.storage is not Storage.LIST:
            self.migrate()
        elif (found := self._call(self._calls.type())) not in ("none", "list"):
            raise self._calls.wrong_type(found)

    def evicted_by(self) -> str | None:
        """The policy by which the server may evict the whole queue, `allkeys-lru` say.

        None if there is no such policy, no memory limit, or the server does not tell.
        """
        return self._if_told(self._calls.eviction())

    def _call(self, wanted: Call[T]) -> T:
        try:
            return call(self._route, wanted)
        except NotExecuted as error:
            if error.reason is not Reason.WRONG_TYPE:
                raise
            found = self._if_told(self._calls.type())
            raise self._calls.wrong_type(found) from error

    def _if_told(self, wanted: Call[T]) -> T | None:
        """The answer, for a message to people: better none than a failure."""
        try:
            return call(self._route, wanted)
        except QueueError:
            return None

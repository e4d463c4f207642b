"""Hosts of one implementation on one fresh prefix: every call judged, every step recorded."""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from uniqfifo_spec.commands import Command
from uniqfifo_spec.conformance.bench import Bench, Seen
from uniqfifo_spec.conformance.oracle import Judged, Operation, judge, judge_not_started
from uniqfifo_spec.conformance.targets import QUEUES, Answer, Target
from uniqfifo_spec.keyspace import Value

CLOCK_READINGS = 2
"""How often the judge itself asks for TIME round an enqueue."""

KEY_ENDINGS = {"workflow": "workflows", "event": "events", "index": "index"}


@dataclass(frozen=True, slots=True)
class Implementation:
    """Something to check: `open` makes a host, not yet started, from bench, prefix and storage.
    If that starts a process, random sequences are fewer and longer.

    `source` is the Python expression that does the same, for reproducers; it may use `url`,
    `client`, `prefix` and `storage`.
    """

    name: str
    open: Callable[[Bench, str, str], Target]
    source: str
    storages: tuple[str, ...] = ("list", "zset", "zset-strict")
    takes_bytes: bool = True
    is_a_process: bool = False

    def takes(self, id: bytes | None) -> bool:
        """Can this id be given to it? A port need not take one that is no text."""
        if self.takes_bytes or id is None:
            return True
        return id.decode("utf-8", "ignore").encode() == id


@dataclass(frozen=True, slots=True)
class Put:
    """Somebody else makes a queue's key hold this."""

    queue: str
    value: Value
    ttl: int | None = None


@dataclass(frozen=True, slots=True)
class SetClock:
    """The server's clock reads this from now on, in microseconds."""

    now: int


@dataclass(frozen=True, slots=True)
class Call:
    """A host of this storage is called, or stopped."""

    storage: str
    operation: Operation


Step = Put | SetClock | Call


class Session:
    """What was done on one prefix, and what its keys hold now.

    A key holds what the judge saw there last. So one mismatch is reported once, and the calls after
    it are judged by what they found. A context manager: at its end hosts are stopped, keys removed.
    """

    def __init__(self, bench: Bench, implementation: Implementation) -> None:
        self.keys: dict[str, Value] = dict.fromkeys(QUEUES)
        self.steps: list[Step] = []
        self._bench = bench
        self._implementation = implementation
        self._hosts: dict[str, Target] = {}
        self._started: set[str] = set()
        self._cleanup = ExitStack()
        self._prefix = self._cleanup.enter_context(bench.prefix())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    def do(self, step: Step) -> list[Judged]:
        """Take one step; if it is a call, judge it."""
        if isinstance(step, SetClock) and not self._bench.clock:
            return []  # the server's clock is its own
        self.steps.append(step)
        match step:
            case Put(queue, value, ttl):
                if ttl or value != self.keys[queue]:
                    self._bench.put(self._key(queue), value, ttl)
                    self.keys[queue] = value
                return []
            case SetClock(now):
                if self._bench.clock:
                    self._bench.clock(now)
                return []
            case Call(storage, operation):
                if not self._implementation.takes(operation.id):
                    return []
                return self._call(storage, operation)

    def write(self, queue: str, command: Command) -> None:
        """A foreign writer's command, on a key whose type allows it."""
        _, value = command.apply(self.keys[queue])
        self.do(Put(queue, value))

    def foreign_keys(self) -> list[bytes]:
        """Keys under the prefix that are none of the three."""
        own = {self._key(queue).encode() for queue in QUEUES}
        return [key for key in self._bench.keys(self._prefix) if key not in own]

    def _key(self, queue: str) -> str:
        return f"{self._prefix}-{KEY_ENDINGS[queue]}"

    def _call(self, storage: str, operation: Operation) -> list[Judged]:
        host = self._host(storage)
        if operation.name == "stop":
            self._started.discard(storage)
            answer = host.stop()
            return [Judged("LIF-4", "" if answer is None else f"stop() answered {answer!r}")]
        before = dict(self.keys)
        earliest = self._clock(storage, operation)
        answer = invoke(host, operation)
        after = self._look()
        latest = self._clock(storage, operation)
        self.keys = {queue: seen.value for queue, seen in after.items()}
        if operation.name == "start" and answer is None:
            self._started.add(storage)
        elif operation.name == "start":
            self._started.discard(storage)
        elif storage not in self._started:
            return list(judge_not_started(before, answer, after))
        return list(judge(storage, operation, before, answer, after, (earliest, latest)))

    def _host(self, storage: str) -> Target:
        if storage not in self._hosts:
            host = self._implementation.open(self._bench, self._prefix, storage)
            self._cleanup.callback(host.stop)
            self._hosts[storage] = host
        return self._hosts[storage]

    def _look(self) -> Mapping[str, Seen]:
        return dict(zip(QUEUES, self._bench.seen(*map(self._key, QUEUES)), strict=True))

    def _clock(self, storage: str, operation: Operation) -> int:
        """The server's clock, where it matters."""
        return 0 if storage == "list" or operation.name != "enqueue" else self._bench.now()


def invoke(host: Target, operation: Operation) -> Answer:
    """Call a host."""
    match operation:
        case Operation("start"):
            return host.start()
        case Operation("enqueue", str(queue), bytes(id)):
            return host.enqueue(queue, id)
        case Operation("dequeue", str(queue)):
            return host.dequeue(queue)
        case _:
            raise ValueError(f"no such call: {operation}")

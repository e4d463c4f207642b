"""A test vector, and what is wrong when somebody else's answers and keys are held against it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from uniqfifo_spec.commands import Error
from uniqfifo_spec.designs import Answer as DesignAnswer
from uniqfifo_spec.designs import Design, Program, run
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import Score, Value, ZSet

QUEUES = ("workflow", "event", "index")

CLOCK = 1_700_000_000_000_007
"""What the server's clock reads at the first call, in microseconds, while vectors are generated; at
each further call one more. Its last six digits begin with zeros, so that seconds and microseconds
glued together without padding come out wrong."""

FLOORS = {"list": "2.8.17", "zset": "3.2", "zset-strict": "3.2"}

_KINDS = {"WRONGTYPE": "wrong-type", "SCORELIMIT": "not-executed"}
_SHOWN = 300


class Step(NamedTuple):
    """A call of a host: `enqueue` with a queue and an id, `dequeue` with a queue, or `start`."""

    name: str
    queue: str | None = None
    id: Id | None = None


@dataclass(frozen=True, slots=True)
class Refused:
    """A call that fails: its kind, in the words of the stdio protocol."""

    kind: str


@dataclass(frozen=True, slots=True)
class Timed:
    """A sorted set in which some scores are what the server's clock read: None stands for those."""

    entries: tuple[tuple[Score | None, Id], ...]


Answer = bool | Id | None | Refused
Held = Value | Timed
Readings = Sequence[tuple[int, int]]
"""What the server's clock read before and after each step, in microseconds."""


@dataclass(frozen=True, slots=True)
class Vector:
    """Given these keys, these calls of a started host are answered so, and leave these keys.

    - `topic`: the file it stands in
    - `clause`: the clause of SPEC.md that it is about
    - `given`, `expected`: what the key of each queue holds; a queue that is not named has no key.
      No key has a time to live in the end
    - `ttl`: seconds to live, set on every given key
    - `kills`: the wrong implementations that it catches, by their names in `mutants`
    """

    name: str
    topic: str
    clause: str
    storages: tuple[str, ...]
    given: Mapping[str, Value]
    steps: tuple[Step, ...]
    answers: tuple[Answer, ...]
    expected: Mapping[str, Held]
    ttl: int | None = None
    kills: tuple[str, ...] = ()

    @property
    def floor(self) -> str:
        """The oldest Redis on which it holds."""
        return FLOORS[self.storages[0]]


def play(
    given: Mapping[str, Value], steps: Sequence[Step], design: Design, now: int = CLOCK
) -> tuple[tuple[Answer, ...], dict[str, Value]]:
    """Run the calls on the model; return their answers and what the keys hold then.

    `now` is the clock's reading at the first call; each further call finds it one later.
    """
    keys = {queue: given.get(queue) for queue in QUEUES}
    answers = tuple(take(step, design, keys, time) for time, step in enumerate(steps, now))
    return answers, keys


def take(step: Step, design: Design, keys: dict[str, Value], now: int) -> Answer:
    """Run one call on the model, and change `keys` as it does."""
    if step.name == "start":
        failed = None
        for queue in QUEUES:
            answer, keys[queue] = _started(design.start, keys[queue], now)
            failed = failed or answer
    else:
        assert step.queue is not None
        program = design.dequeue() if step.id is None else design.enqueue(step.id)
        failed, (keys[step.queue],) = run(program, (keys[step.queue],), now)
    return Refused(_KINDS.get(failed.code, "other")) if isinstance(failed, Error) else failed


@lru_cache(maxsize=4096)
def _started(start: Callable[[], Program], value: Value, now: int) -> tuple[DesignAnswer, Value]:
    """Kept, since to move a thousand ids takes a while, and most mutants start as the design."""
    answer, (value,) = run(start(), (value,), now)
    return answer, value


def mismatches(vector: Vector, design: Design, now: int = CLOCK) -> list[str]:
    """All in which a design differs from the vector when the clock reads `now`."""
    answers, keys = play(vector.given, vector.steps, design, now)
    readings = [(time, time) for time, _ in enumerate(vector.steps, now)]
    return [*_answer_problems(vector, answers), *key_problems(vector, keys, readings)]


def _answer_problems(vector: Vector, answers: Sequence[Answer]) -> Iterator[str]:
    for number, (expected, answer) in enumerate(zip(vector.answers, answers, strict=True)):
        # By type, too: None and False are different answers, and so are 1 and True.
        if type(expected) is not type(answer) or expected != answer:
            yield f"step {number} answers {shown(answer)}, expected {shown(expected)}"


def key_problems(vector: Vector, keys: Mapping[str, Value], readings: Readings) -> Iterator[str]:
    """All in which what the keys hold now differs from what the vector expects."""
    for queue in QUEUES:
        expected, found = vector.expected.get(queue), keys[queue]
        if isinstance(expected, Timed):
            same = isinstance(found, ZSet) and _in_time(vector, queue, expected, found, readings)
        else:
            same = expected == found
        if not same:
            yield f"{queue} holds {shown(found)}, expected {shown(expected)}"


def _in_time(vector: Vector, queue: str, expected: Timed, found: ZSet, readings: Readings) -> bool:
    """Are these the ids, in this order, each with its score or with one that the clock gave it?"""
    if [id for _, id in expected.entries] != [id for _, id in found.entries]:
        return False
    given_at = {
        step.id: reading
        for step, answer, reading in zip(vector.steps, vector.answers, readings, strict=True)
        if step.queue == queue and answer is True
    }
    for (wanted, id), (score, _) in zip(expected.entries, found.entries, strict=True):
        if wanted is None:
            earliest, latest = given_at[id]
            if not (earliest <= score <= latest and score == int(score)):
                return False
        elif score != wanted:
            return False
    return True


def shown(value: object) -> str:
    """A value for a person to read, however long it is."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text)} characters)"

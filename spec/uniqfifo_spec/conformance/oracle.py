"""Compares one call with the model: the answer, and the whole key before and after.

This is the only place where a check asks the model what should have happened.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from uniqfifo_spec import fifo
from uniqfifo_spec.commands import Error
from uniqfifo_spec.conformance.bench import Seen
from uniqfifo_spec.conformance.targets import QUEUES, Answer, Failed
from uniqfifo_spec.designs import STORAGES, run
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.history import UNTOLD
from uniqfifo_spec.keyspace import List, Score, Value, ZSet, pending

Keys = Mapping[str, Value]
"""The value of each queue's key, by the queue's name."""


@dataclass(frozen=True, slots=True)
class Operation:
    """A call: `enqueue` with a queue and an id, `dequeue` with a queue, or `start`."""

    name: str
    queue: str | None = None
    id: Id | None = None


@dataclass(frozen=True, slots=True)
class Judged:
    """One thing that a clause asks of one call; `problem` is empty if it is so.

    `undecided`: whether it is so could not be found out within the bounds. That is no pass.
    """

    clause: str
    problem: str = ""
    undecided: bool = False


_KINDS = {"WRONGTYPE": "wrong-type", "SCORELIMIT": "not-executed"}
_FIFO = {"list": "LST-3", "zset": "ZST-3", "zset-strict": "STR-2"}
_FORMAT = {"list": "LST-1", "zset": "ZST-2", "zset-strict": "STR-1"}


def judge(
    storage: str,
    operation: Operation,
    before: Keys,
    answer: Answer,
    after: Mapping[str, Seen],
    clock: tuple[int, int],
) -> Iterator[Judged]:
    """Judge a call of a started host by every clause that has a say in it.

    `clock` is the server's time before and after the call, in microseconds. Values of `before`
    carry no time to live.
    """
    if operation.name == "start":
        yield from _judge_start(storage, before, answer, after)
    else:
        yield from _judge_call(storage, operation, before, answer, after, clock)
    for queue in QUEUES:
        migrated = operation.name == "start" and type(after[queue].value) is not type(before[queue])
        clause = "MIG-4" if migrated else "KEY-3"
        yield Judged(clause, f"{queue} has a time to live" if after[queue].has_ttl else "")


def judge_not_started(before: Keys, answer: Answer, after: Mapping[str, Seen]) -> Iterator[Judged]:
    """Judge an enqueue or dequeue of a host that is not started."""
    yield Judged("LIF-1", wrong_answer(Failed("not-started"), answer))
    for queue in QUEUES:
        yield Judged("LIF-1", _difference(queue, before[queue], after[queue].value))


def _judge_start(
    storage: str, before: Keys, answer: Answer, after: Mapping[str, Seen]
) -> Iterator[Judged]:
    refused = False
    for queue in QUEUES:
        value = before[queue]
        error, (expected,) = run(STORAGES[storage].start(), (value,), now=0)
        refused = refused or isinstance(error, Error)
        clause = "ERR-1" if storage == "list" else _MIGRATION.get(type(value), "MIG-3")
        yield Judged(clause, _difference(queue, expected, after[queue].value))
    if refused:
        yield Judged("LIF-3", wrong_answer(Failed("wrong-type"), answer))
    else:
        yield Judged("LIF-2", wrong_answer(None, answer))


_MIGRATION = {List: "MIG-1", ZSet: "MIG-2", type(None): "MIG-2"}


def _judge_call(
    storage: str,
    operation: Operation,
    before: Keys,
    answer: Answer,
    after: Mapping[str, Seen],
    clock: tuple[int, int],
) -> Iterator[Judged]:
    queue, id = operation.queue, operation.id
    assert queue is not None
    value, found = before[queue], after[queue].value
    design = STORAGES[storage]
    program = design.dequeue() if id is None else design.enqueue(id)
    reading = _reading(id, found, clock)
    answered, (expected,) = run(program, (value,), reading)
    wanted = Failed(_KINDS[answered.code]) if isinstance(answered, Error) else answered

    clause = _clause(operation, wanted, storage)
    yield Judged(clause, wrong_answer(wanted, answer) or _difference(queue, expected, found))
    for other in QUEUES:
        if other != queue:
            yield Judged("KEY-4", _difference(other, before[other], after[other].value))
    if isinstance(wanted, Failed):
        return
    yield Judged("QUE-1", _grown_copies(value, found))
    if operation.name == "dequeue" and storage != "list":
        yield Judged("ZST-1", wrong_answer(wanted, answer) or _difference(queue, expected, found))
    if wanted is True:
        yield Judged(_FORMAT[storage], _difference(queue, expected, found))
        if storage != "zset" or _passed(value, reading):
            yield Judged(_FIFO[storage], _not_at_tail(value, id, found))
        if value is not None:
            yield Judged("ENQ-3", _difference(queue, expected, found))
    for text in (id, wanted):
        if isinstance(text, bytes) and not text.isalnum():
            foreign = operation.name == "dequeue"
            wrong = wrong_answer(wanted, answer) or _difference(queue, expected, found)
            yield Judged("IDS-3" if foreign else "IDS-1", wrong)


def _clause(operation: Operation, wanted: Answer, storage: str) -> str:
    """The clause that says what this call has to answer in this situation."""
    if isinstance(wanted, Failed):
        return "ERR-1" if wanted.kind == "wrong-type" else "STR-3"
    if operation.name == "dequeue":
        return "DEQ-2" if wanted is None else "DEQ-1"
    return "ENQ-1" if wanted else "ENQ-2"


def _reading(id: Id | None, found: Value, clock: tuple[int, int]) -> int:
    """What the server's clock read during the call, as far as the new score tells.

    The score itself, if it lies between the two readings; else the nearer one, with which the model
    then disagrees unless the storage was to ignore the clock.
    """
    earliest, latest = clock
    score: Score = earliest
    if isinstance(found, ZSet):
        score = next((score for score, other in found.entries if other == id), earliest)
    return int(min(max(score, earliest), latest))


def _passed(value: Value, now: int) -> bool:
    """Is the clock past every score, as FIFO in `zset` requires?"""
    return not isinstance(value, ZSet) or now > value.entries[-1][0]


def wrong_answer(expected: Answer, answer: Answer) -> str:
    """What is wrong with this answer; nothing if it is as expected."""
    if isinstance(expected, Failed) and isinstance(answer, Failed):
        same = expected.kind == answer.kind
    elif answer is UNTOLD:
        same = isinstance(expected, bool)
    else:
        same = type(expected) is type(answer) and expected == answer
    return "" if same else f"answer {answer!r}, expected {expected!r}"


def _difference(queue: str, expected: Value, found: Value) -> str:
    return "" if expected == found else f"{queue} holds {found!r}, expected {expected!r}"


def _grown_copies(value: Value, found: Value) -> str:
    before, after = pending(value), pending(found) if _is_queue(found) else ()
    more = [id for id in dict.fromkeys(after) if after.count(id) > max(1, before.count(id))]
    return f"more copies than before: {more!r}" if more else ""


def _not_at_tail(value: Value, id: Id | None, found: Value) -> str:
    assert id is not None
    _, expected = fifo.enqueue(pending(value), id)
    after = pending(found) if _is_queue(found) else ()
    return "" if after == expected else f"leaving order {after!r}, expected {expected!r}"


def _is_queue(value: Value) -> bool:
    return value is None or isinstance(value, List | ZSet)

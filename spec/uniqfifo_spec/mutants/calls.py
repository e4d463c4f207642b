"""Enqueue and dequeue gone wrong."""

import math
from collections.abc import Callable

from uniqfifo_spec.commands import (
    Command,
    Error,
    LInsertBefore,
    LRemFirst,
    RPush,
    Time,
    ZAddNX,
    ZLastScore,
    ZRangeFirst,
    ZRem,
)
from uniqfifo_spec.designs import TOP_SCORE, Program
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import Score
from uniqfifo_spec.mutants.commands import RPop, ZPopMin, ZRangeAll

Reading = Callable[[int], Score]
"""What becomes of the clock's reading."""


def list_enqueue(
    insert: Callable[[Id, Id], Command] = LInsertBefore,
    absent: Callable[[int], bool] = lambda length: length <= 0,
    push: Callable[[Id], Command] = RPush,
    take_back: Callable[[Id], Command] = LRemFirst,
) -> Callable[[Id], Program]:
    """The enqueue of `list`, with any of its parts replaced."""

    def enqueue(id: Id) -> Program:
        if absent((yield insert(id, id))):
            yield push(id)
            return True
        yield take_back(id)
        return False

    return enqueue


def without_twin(id: Id) -> Program:
    yield RPush(id)
    return True


def rpop() -> Program:
    id: Id | None = yield RPop()
    return id


def exactly(now: int) -> Score:
    return now


def seconds(now: int) -> Score:
    return now // 1_000_000


def milliseconds(now: int) -> Score:
    return now // 1000


def fourteen_digits(now: int) -> Score:
    """As Lua's tostring and .. do."""
    return float(f"{now:.14g}")


def unpadded(now: int) -> Score:
    """TIME's two numbers one behind the other, as they are."""
    return int(f"{now // 1_000_000}{now % 1_000_000}")


def zset_enqueue(
    reading: Reading = exactly, add: Callable[[Score, Id], Command] = ZAddNX
) -> Callable[[Id], Program]:
    """The enqueue of `zset`, with any of its parts replaced."""

    def enqueue(id: Id) -> Program:
        now = yield Time()
        return bool((yield add(reading(now), id)))

    return enqueue


def one_above(score: Score) -> Score:
    return score + 1 if math.isinf(score) else math.floor(score) + 1


def strict_enqueue(
    reading: Reading = exactly,
    add: Callable[[Score, Id], Command] = ZAddNX,
    above: Callable[[Score], Score] = one_above,
    limit: Score = TOP_SCORE,
) -> Callable[[Id], Program]:
    """The enqueue of `zset-strict`, with any of its parts replaced."""

    def enqueue(id: Id) -> Program:
        score = reading((yield Time()))
        last = yield ZLastScore()
        if last:
            score = max(score, above(last[1]))
        if score > limit:
            return Error("SCORELIMIT")
        return bool((yield add(score, id)))

    return enqueue


def zset_dequeue(choose: Callable[[tuple[tuple[Score, Id], ...]], Id]) -> Callable[[], Program]:
    """A dequeue that chooses for itself whom it takes."""

    def dequeue() -> Program:
        entries = yield ZRangeAll()
        if not entries:
            return None
        head = choose(entries)
        yield ZRem(head)
        return head

    return dequeue


def in_utf_16(entry: tuple[Score, Id]) -> tuple[Score, bytes]:
    """Where an entry stands for a language whose texts are UTF-16."""
    score, id = entry
    return score, id.decode("utf-8", "replace").encode("utf-16-be")


def without_removal() -> Program:
    first = yield ZRangeFirst()
    return first[0] if first else None


def zpopmin() -> Program:
    popped = yield ZPopMin()
    return popped[0] if popped else None

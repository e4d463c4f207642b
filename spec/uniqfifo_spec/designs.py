"""The designs as step programs.

A program is a generator: it yields one command at a time and is sent the reply; what it returns is
the call's answer. Between two yields any other client may run. `atomic(program)` makes it one step,
as a Lua script is. An error reply ends a program, whose answer is then that `Error`; what was done
before it stays done, since Redis does not roll a script back.

Source: the two published designs and `SPEC.md` (LST, ZST, STR, MIG).
"""

import math
from collections.abc import Callable, Generator
from dataclasses import dataclass
from functools import wraps
from typing import Any

from uniqfifo_spec.commands import (
    WRONGTYPE,
    Command,
    Del,
    Error,
    LInsertBefore,
    LPop,
    LRangeAll,
    LRemFirst,
    Reply,
    RPush,
    Time,
    Type,
    ZAddNX,
    ZLastScore,
    ZRangeAll,
    ZRangeFirst,
    ZRem,
)
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import Value

Answer = bool | Id | None | Error
Program = Generator[Command, Any, Answer]
Keys = tuple[Value, ...]

TOP_SCORE = 2**53 - 1
"""The highest score that `zset-strict` assigns: up to here every whole number is a double."""


@dataclass(frozen=True, slots=True)
class Atomic(Command):
    """A whole program as one command."""

    program: Callable[..., Program]
    arguments: tuple[Id, ...]


def atomic(program: Callable[..., Program]) -> Callable[..., Program]:
    """The same program as a single step."""

    @wraps(program)
    def one_step(*arguments: Id) -> Program:
        answer: Answer = yield Atomic(program, arguments)
        return answer

    return one_step


def step(command: Command, keys: Keys, now: int) -> tuple[Reply, Keys]:
    """Run one command. `now` is what the server's clock reads meanwhile, in microseconds."""
    if isinstance(command, Time):
        return now, keys
    if isinstance(command, Atomic):
        return run(command.program(*command.arguments), keys, now)
    reply, value = command.apply(keys[command.KEY])
    return reply, (*keys[: command.KEY], value, *keys[command.KEY + 1 :])


def run(program: Program, keys: Keys, now: int) -> tuple[Answer, Keys]:
    """Run a program to its end with nobody in between."""
    reply: Any = None
    try:
        while True:
            reply, keys = step(program.send(reply), keys, now)
            if isinstance(reply, Error):
                return reply, keys
    except StopIteration as end:
        return end.value, keys


def legacy_enqueue(id: Id) -> Program:
    """Insert a twin to find out whether `id` is there; then take the twin back, or append."""
    if (yield LInsertBefore(id, id)) <= 0:
        yield RPush(id)
        return True
    yield LRemFirst(id)
    return False


def lpop() -> Program:
    head: Id | None = yield LPop()
    return head


def zset_enqueue(id: Id) -> Program:
    now = yield Time()
    return bool((yield ZAddNX(now, id)))


def strict_enqueue(id: Id) -> Program:
    """As `zset_enqueue`, but never at or before an id that is pending."""
    score = yield Time()
    last = yield ZLastScore()
    if last:
        score = max(score, last[1] + 1 if math.isinf(last[1]) else math.floor(last[1]) + 1)
    if score > TOP_SCORE:
        return Error("SCORELIMIT")
    return bool((yield ZAddNX(score, id)))


def zset_dequeue() -> Program:
    first = yield ZRangeFirst()
    if not first:
        return None
    head: Id = first[0]
    yield ZRem(head)
    return head


def list_start() -> Program:
    """Refuse a key that `list` cannot use."""
    return None if (yield Type()) in ("none", "list") else WRONGTYPE


def migrate() -> Program:
    """LIST to ZSET in place: the first copy of each id stays, scored by its 1-based position."""
    found = yield Type()
    if found in ("none", "zset"):
        return None
    if found != "list":
        return WRONGTYPE
    ids = yield LRangeAll()
    yield Del()
    for position, id in enumerate(ids, start=1):
        yield ZAddNX(position, id)
    return None


def roll_back() -> Program:
    """ZSET to LIST in place, the way back: the ids in leaving order. No design starts like this."""
    found = yield Type()
    if found in ("none", "list"):
        return None
    if found != "zset":
        return WRONGTYPE
    ids = yield ZRangeAll()
    yield Del()
    for id in ids:
        yield RPush(id)
    return None


@dataclass(frozen=True, slots=True)
class Design:
    """The three calls of one way to store a queue."""

    name: str
    enqueue: Callable[[Id], Program]
    dequeue: Callable[[], Program]
    start: Callable[[], Program]


LIST = Design("list", atomic(legacy_enqueue), lpop, list_start)
ZSET = Design("zset", atomic(zset_enqueue), atomic(zset_dequeue), atomic(migrate))
ZSET_STRICT = Design("zset-strict", atomic(strict_enqueue), atomic(zset_dequeue), atomic(migrate))

STORAGES = {design.name: design for design in (LIST, ZSET, ZSET_STRICT)}

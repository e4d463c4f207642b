"""Each promise rests on a detail: take the detail away, and the explorer notices."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from uniqfifo_spec.commands import (
    Entries,
    LInsertBefore,
    ListCommand,
    LPop,
    LRemFirst,
    Reply,
    RPush,
    Time,
    ZAddNX,
    ZLastScore,
    ZRangeFirst,
    ZSetCommand,
)
from uniqfifo_spec.designs import (
    LIST,
    ZSET,
    ZSET_STRICT,
    Design,
    Program,
    atomic,
    migrate,
    zset_dequeue,
)
from uniqfifo_spec.explore import START, Configuration, explore, free
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.keyspace import List, Score
from uniqfifo_spec.rejected import LEGACY, SET_AND_LIST

pytestmark = pytest.mark.once


@dataclass(frozen=True, slots=True)
class ZAdd(ZSetCommand):
    """ZADD without NX: the score of an id that is there is replaced."""

    score: Score
    id: Id

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        others = tuple(entry for entry in entries if entry[1] != self.id)
        return int(others == entries), tuple(sorted((*others, (self.score, self.id))))


@dataclass(frozen=True, slots=True)
class RPop(ListCommand):
    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return (ids[-1], ids[:-1]) if ids else (None, ids)


def without_nx(id: Id) -> Program:
    now = yield Time()
    return bool((yield ZAdd(now, id)))


def without_lrem(id: Id) -> Program:
    if (yield LInsertBefore(id, id)) <= 0:
        yield RPush(id)
        return True
    return False


def without_push(id: Id) -> Program:
    if (yield LInsertBefore(id, id)) <= 0:
        return True
    yield LRemFirst(id)
    return False


def without_zrem() -> Program:
    first = yield ZRangeFirst()
    return first[0] if first else None


def without_srem() -> Program:
    id: Id | None = yield LPop()
    return id


def highest_but_not_above(id: Id) -> Program:
    now = yield Time()
    last = yield ZLastScore()
    return bool((yield ZAddNX(max(now, last[1]) if last else now, id)))


def rpop() -> Program:
    id: Id | None = yield RPop()
    return id


FALSE_ANSWERS = {"linearizable", "linearizable-to-bag"}


@pytest.mark.parametrize(
    ("sound", "changes", "found"),
    [
        pytest.param(
            LIST,
            {"enqueue": LEGACY.enqueue},
            {*FALSE_ANSWERS, "unique", "nothing-lost", "delivered-once", "quiet"},
            id="enqueue that is not one step",
        ),
        pytest.param(
            LIST,
            {"enqueue": atomic(without_lrem)},
            {*FALSE_ANSWERS, "unique", "delivered-once", "quiet"},
            id="without LREM",
        ),
        pytest.param(
            LIST,
            {"enqueue": atomic(without_push)},
            {*FALSE_ANSWERS, "nothing-lost", "never-wedged"},
            id="without RPUSH",
        ),
        pytest.param(LIST, {"dequeue": rpop}, {"linearizable", "fifo"}, id="RPOP"),
        pytest.param(
            ZSET,
            {"enqueue": atomic(without_nx)},
            {"linearizable", "fifo", "quiet"},
            id="without NX",
        ),
        pytest.param(
            ZSET,
            {"dequeue": zset_dequeue},
            {*FALSE_ANSWERS, "fifo"},
            id="dequeue that is not one step",
        ),
        pytest.param(
            ZSET,
            {"dequeue": atomic(without_zrem)},
            {*FALSE_ANSWERS, "never-wedged"},
            id="without ZREM",
        ),
    ],
)
def test_a_detail_that_is_missing(sound: Design, changes: dict[str, Any], found: set[str]) -> None:
    assert explore(Configuration((sound, sound), 3)).steps() == {}
    mutant = replace(sound, name="mutant", **changes)
    assert {*explore(Configuration((mutant, mutant), 3)).steps()} == found


def test_set_and_list_without_srem_wedges_without_a_crash() -> None:
    mutant = replace(SET_AND_LIST, name="mutant", dequeue=without_srem)
    assert "never-wedged" not in explore(Configuration((SET_AND_LIST,) * 2, 3)).steps()
    assert explore(Configuration((mutant,) * 2, 3)).steps()["never-wedged"] == 3


def test_a_strict_score_that_only_reaches_the_highest_ties() -> None:
    """ "B07"""
    mutant = replace(ZSET_STRICT, name="mutant", enqueue=atomic(highest_but_not_above))
    for clock in ("nondecreasing", "any"):
        assert explore(Configuration((ZSET_STRICT,) * 2, 3, clock=clock)).steps() == {}
        found = explore(Configuration((mutant,) * 2, 3, clock=clock)).steps()
        assert found == {"linearizable": 3, "fifo": 3}


def test_zset_under_a_weaker_clock_than_it_claims() -> None:
    assert explore(Configuration((ZSET,) * 2, 3, clock="strict")).steps() == {}
    for clock in ("nondecreasing", "any"):
        found = explore(Configuration((ZSET,) * 2, 3, clock=clock)).steps()
        assert found == {"linearizable": 3, "fifo": 3}


def test_a_migration_that_others_can_see_half_done() -> None:
    mutant = replace(ZSET, name="mutant", start=migrate)
    calls = (((START,), *free(1)),) * 2
    initial = (List((b"a", b"b")), None)
    assert explore(Configuration((ZSET,) * 2, calls, initial=initial)).steps() == {}
    found = explore(Configuration((mutant,) * 2, calls, initial=initial)).steps()
    assert {*found} == {*FALSE_ANSWERS, "nothing-lost", "delivered-once"}

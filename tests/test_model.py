"""The model refines itself: every design, on every key value in scope, is the abstract queue."""

import pytest

from uniqfifo_spec import fifo
from uniqfifo_spec.commands import WRONGTYPE, Error
from uniqfifo_spec.conformance.scope import CLOCK, IDS, lists, zsets
from uniqfifo_spec.designs import LIST, STORAGES, TOP_SCORE, ZSET, ZSET_STRICT, Design, run
from uniqfifo_spec.keyspace import List, Other, Value, ZSet, pending

pytestmark = pytest.mark.once

LISTS: list[Value] = [None, *lists()]
ZSETS: list[Value] = [None, *zsets(at_clock=True)]


def after_the_clock(value: Value) -> bool:
    return isinstance(value, ZSet) and value.entries[-1][0] >= CLOCK


def test_the_scope_is_as_large_as_it_says() -> None:
    assert len(LISTS) == 1 + 3 + 9 + 27 + 81
    assert len(ZSETS) == 9**3


@pytest.mark.parametrize(
    ("design", "values"),
    [
        (LIST, LISTS),
        (ZSET, [value for value in ZSETS if not after_the_clock(value)]),
        (ZSET_STRICT, [v for v in ZSETS if not (v and v.entries[-1][0] == TOP_SCORE)]),  # type: ignore[union-attr]
    ],
)
def test_each_call_is_the_abstract_queues_call(design: Design, values: list[Value]) -> None:
    for value in values:
        for id in IDS:
            answer, (after,) = run(design.enqueue(id), (value,), CLOCK)
            assert (answer, pending(after)) == fifo.enqueue(pending(value), id)
        answer, (after,) = run(design.dequeue(), (value,), CLOCK)
        assert (answer, pending(after)) == fifo.dequeue(pending(value))


def test_zset_keeps_everything_but_order_when_the_clock_lags() -> None:
    overtaken = 0
    for value in filter(after_the_clock, ZSETS):
        for id in IDS:
            answer, (after,) = run(ZSET.enqueue(id), (value,), CLOCK)
            expected, in_order = fifo.enqueue(pending(value), id)
            assert answer == expected
            assert sorted(pending(after)) == sorted(in_order)
            overtaken += pending(after) != in_order
    assert overtaken > 0


def test_zset_strict_refuses_when_no_score_is_left() -> None:
    full = ZSet(((TOP_SCORE, b"a"),))
    for id in IDS:
        assert run(ZSET_STRICT.enqueue(id), (full,), CLOCK) == (Error("SCORELIMIT"), (full,))
    last = ZSet(((TOP_SCORE - 1, b"a"),))
    answer, (after,) = run(ZSET_STRICT.enqueue(b"b"), (last,), CLOCK)
    assert (answer, pending(after)) == (True, (b"a", b"b"))


def test_migration_keeps_order_and_the_first_copies() -> None:
    for value in lists():
        _, (after,) = run(ZSET.start(), (value,), CLOCK)
        assert pending(after) == tuple(dict.fromkeys(value.ids))
        assert run(ZSET.start(), (after,), CLOCK) == (None, (after,))
    _, (after,) = run(ZSET.start(), (List((b"a", b"b", b"a", b"c")),), CLOCK)
    assert after == ZSet(((1, b"a"), (2, b"b"), (4, b"c")))


@pytest.mark.parametrize("storage", STORAGES)
def test_no_call_touches_a_key_of_another_type(storage: str) -> None:
    design = STORAGES[storage]
    foreign: list[Value] = [Other("string"), Other("hash")]
    foreign.append(ZSet(((1, b"a"),)) if storage == "list" else List((b"a",)))
    for value in foreign:
        programs = [design.enqueue(b"a"), design.dequeue()]
        if storage == "list" or isinstance(value, Other):
            programs.append(design.start())
        for program in programs:
            assert run(program, (value,), CLOCK) == (WRONGTYPE, (value,))


def test_remove_takes_out_every_copy() -> None:
    assert fifo.remove((b"a", b"b", b"a"), b"a") == (True, (b"b",))
    assert fifo.remove((b"b",), b"a") == (False, (b"b",))

"""Whatever makes the search small or fast is compared with a search that goes without it."""

import pytest

from uniqfifo_spec.commands import Time, Type, ZAddNX
from uniqfifo_spec.designs import (
    LIST,
    ZSET,
    ZSET_STRICT,
    Atomic,
    Design,
    Program,
    legacy_enqueue,
    list_start,
    lpop,
)
from uniqfifo_spec.explore import (
    DEQUEUE,
    PROPERTIES,
    Configuration,
    Operation,
    Report,
    enqueue,
    explore,
)
from uniqfifo_spec.explore.clock import EPOCH, Axiom
from uniqfifo_spec.explore.model import Local, Model
from uniqfifo_spec.explore.places import Places
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import Value, ZSet
from uniqfifo_spec.rejected import LEGACY, SET_AND_LIST

pytestmark = pytest.mark.once

A, B = enqueue(b"a"), enqueue(b"b")

BENCHMARK: tuple[tuple[Operation, ...], ...] = (
    (A, DEQUEUE, B, DEQUEUE),
    (A, B, DEQUEUE, DEQUEUE),
    (DEQUEUE, A, DEQUEUE, B),
    (B, DEQUEUE, A, DEQUEUE),
    (DEQUEUE, DEQUEUE, A, B),
)
"""Two models that five other checkers have counted, one of them without the last client."""


def verdicts(report: Report) -> tuple[dict[str, int], tuple[str, ...]]:
    return report.steps(), report.outcomes("PROVED")


@pytest.mark.parametrize(
    ("clients", "states", "transitions"), [(4, 34_716, 120_618), (5, 603_906, 2_563_333)]
)
def test_other_checkers_count_the_same(clients: int, states: int, transitions: int) -> None:
    report = explore(Configuration((LEGACY,) * clients, BENCHMARK[:clients]), ())
    assert (report.states, report.transitions) == (states, transitions)


@pytest.mark.parametrize(("symmetry", "states"), [(False, 309_668), (True, 6_533)])
def test_five_identical_clients(symmetry: bool, states: int) -> None:
    report = explore(Configuration((LEGACY,) * 5, BENCHMARK[:1] * 5), (), symmetry=symmetry)
    assert report.states == states


@pytest.mark.parametrize(
    "configuration",
    [
        Configuration((LEGACY, LEGACY), 2, lost=1),
        Configuration((SET_AND_LIST, SET_AND_LIST), 2, crashes=1),
        Configuration((ZSET, ZSET_STRICT), 2, clock="any", lost=1),
        Configuration((LEGACY, LEGACY, LIST), 1),
    ],
    ids=str,
)
def test_packing_changes_nothing(configuration: Configuration) -> None:
    """Against states that are what they say, and moves that are computed anew for each."""
    model = Model(configuration, {name: make(configuration) for name, make in PROPERTIES.items()})
    start = (model.initial()[0], (Local(0),) * len(configuration.clients))
    states, todo, transitions = {start}, [start], 0
    while todo:
        shared, locals_ = todo.pop()
        for client, local in enumerate(locals_):
            after = {
                (move.shared, (*locals_[:client], move.local, *locals_[client + 1 :]))
                for move in model.moves(client, shared, local)
            }
            transitions += len(after)
            todo += after - states
            states |= after
    report = explore(configuration, symmetry=False)
    assert (report.states, report.transitions) == (len(states), transitions)


@pytest.mark.parametrize(
    ("configuration", "full", "reduced"),
    [
        (Configuration((LEGACY,) * 2, 3), 3796, 2011),
        (Configuration((LEGACY,) * 2, 2, lost=1, crashes=1), 7307, 3847),
        (Configuration((LEGACY,) * 3, 1), 433, 141),
        (Configuration((LEGACY, LEGACY, LIST), 2), 9550, 5151),
        (Configuration((SET_AND_LIST,) * 2, 3, crashes=1), 7006, 3545),
        (Configuration((ZSET_STRICT, ZSET, ZSET), 2, clock="any"), 369, 243),
        (Configuration((ZSET,) * 2, 3, clock="nondecreasing", lost=1), 1856, 1175),
    ],
    ids=str,
)
def test_symmetry_changes_no_verdict(configuration: Configuration, full: int, reduced: int) -> None:
    without = explore(configuration, symmetry=False)
    with_it = explore(configuration)
    assert verdicts(with_it) == verdicts(without)
    assert (without.states, with_it.states) == (full, reduced)


FUTURE = EPOCH + 3
"""A score that a small clock will read some time."""


@pytest.mark.parametrize("clock", ["strict", "nondecreasing", "any"])
@pytest.mark.parametrize(
    "initial",
    [
        None,
        ZSet(((1, b"b"), (2, b"a"))),
        ZSet(((FUTURE, b"b"),)),
        ZSet(((FUTURE, b"a"), (FUTURE, b"b"))),
        ZSet(((FUTURE, b"b"), (FUTURE + 1, b"a"))),
        ZSet(((FUTURE - 1, b"a"), (FUTURE + 1, b"b"))),
    ],
)
@pytest.mark.parametrize(
    "designs", [(ZSET, ZSET), (ZSET, ZSET_STRICT), (ZSET_STRICT, ZSET_STRICT), (LEGACY, ZSET)]
)
def test_ranks_change_no_verdict(designs: tuple[Design, ...], initial: Value, clock: Axiom) -> None:
    ranks = Configuration(designs, 2, clock=clock, initial=(initial, None))
    full = Configuration(designs, 2, clock=clock, initial=(initial, None), ticks=7)
    assert verdicts(explore(ranks)) == verdicts(explore(full))


def split_zset_enqueue(id: Id) -> Program:
    """The clock is read in one step and the score written in another."""
    now = yield Time()
    return bool((yield ZAddNX(now, id)))


SPLIT_ZSET = Design("split", split_zset_enqueue, ZSET.dequeue, ZSET.start)


def test_a_score_that_outlives_its_step_needs_ticks() -> None:
    with pytest.raises(ValueError, match="explore with ticks"):
        explore(Configuration((SPLIT_ZSET, ZSET), 2))
    report = explore(Configuration((SPLIT_ZSET, SPLIT_ZSET), 2, ticks=5))
    assert report.steps() == {}
    assert report.states == 3236


def confirmed_enqueue(id: Id) -> Program:
    """Remembers a reply that does not show in what is sent next."""
    added: bool = yield Atomic(legacy_enqueue, (id,))
    yield Type()
    return added


CONFIRMED = Design("confirmed", confirmed_enqueue, lpop, list_start)


def test_runs_that_send_the_same_share_a_place() -> None:
    table = Places(lambda: legacy_enqueue(b"a"))
    assert isinstance(table.begin, int)
    missed, absent = table.after(table.begin, -1), table.after(table.begin, 0)
    assert missed == absent != table.after(table.begin, 2)
    assert table.sound()
    exact = Places(lambda: legacy_enqueue(b"a"), merge=False)
    assert exact.after(0, -1) != exact.after(0, 0)


def test_a_shared_place_that_was_wrong_is_noticed_and_given_up() -> None:
    table = Places(lambda: confirmed_enqueue(b"a"))
    place = table.after(0, True)
    assert isinstance(place, int)
    assert table.after(0, False) == place
    table.after(place, "list")
    assert not table.sound()
    assert explore(Configuration((CONFIRMED, CONFIRMED), 3)).steps() == {}


def test_the_limit_leaves_what_is_not_refuted_undetermined() -> None:
    report = explore(Configuration((LEGACY,) * 2, 4), ("unique", "fifo"), limit=100)
    assert not report.complete
    assert report.verdicts["fifo"].outcome == "UNDETERMINED"
    assert "limit" in report.verdicts["fifo"].reason
    assert report.states < 6636


def test_the_search_ends_when_everything_is_refuted() -> None:
    report = explore(Configuration((LEGACY,) * 2, 4), ("unique",))
    assert report.steps() == {"unique": 4}
    assert not report.complete

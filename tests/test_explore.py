"""What the explorer finds about each design and each pair of designs, with every count pinned."""

import pytest

from uniqfifo_spec.commands import WRONGTYPE
from uniqfifo_spec.designs import Design
from uniqfifo_spec.explore import (
    DEQUEUE,
    PROPERTIES,
    START,
    Configuration,
    Report,
    explore,
)
from uniqfifo_spec.explore.clock import Axiom
from uniqfifo_spec.explore.scenarios import SCENARIOS
from uniqfifo_spec.keyspace import List
from uniqfifo_spec.rejected import DESIGNS

pytestmark = pytest.mark.once

AXIOMS: tuple[Axiom, ...] = ("strict", "nondecreasing", "any")
FALSE_ANSWERS = ("linearizable", "linearizable-to-bag")


def named(names: str) -> tuple[Design, ...]:
    return tuple(DESIGNS[name] for name in names.split())


def broken(report: Report) -> dict[str, int]:
    """The refuted properties with the length of the shortest run; every other one is proved."""
    assert report.outcomes("UNDETERMINED") == ()
    return report.steps()


@pytest.mark.parametrize(
    ("names", "clock", "states", "transitions", "found"),
    [
        (
            "legacy legacy",
            "strict",
            2011,
            4720,
            {
                **dict.fromkeys(FALSE_ANSWERS, 4),
                "unique": 4,
                "nothing-lost": 7,
                "delivered-once": 6,
                "quiet": 4,
            },
        ),
        (
            "legacy list",
            "strict",
            1255,
            3145,
            {
                **dict.fromkeys(FALSE_ANSWERS, 3),
                "unique": 3,
                "nothing-lost": 5,
                "delivered-once": 5,
                "quiet": 3,
            },
        ),
        ("list list", "strict", 44, 167, {}),
        ("list list", "any", 44, 167, {}),
        (
            "set+list set+list",
            "strict",
            1108,
            2536,
            {**dict.fromkeys(FALSE_ANSWERS, 3), "fifo": 5},
        ),
        ("zset zset", "strict", 44, 167, {}),
        ("zset zset", "nondecreasing", 131, 521, {"linearizable": 3, "fifo": 3}),
        ("zset zset", "any", 116, 437, {"linearizable": 3, "fifo": 3}),
        ("zset-strict zset-strict", "strict", 44, 167, {}),
        ("zset-strict zset-strict", "nondecreasing", 132, 631, {}),
        ("zset-strict zset-strict", "any", 60, 237, {}),
        ("zset zset-strict", "strict", 72, 276, {}),
        ("zset zset-strict", "nondecreasing", 341, 1424, {"linearizable": 3, "fifo": 3}),
        ("zset zset-strict", "any", 206, 726, {"linearizable": 3, "fifo": 3}),
        ("list zset", "strict", 96, 260, {"never-wedged": 1}),
        ("list zset-strict", "any", 112, 304, {"never-wedged": 1}),
        ("legacy zset", "strict", 394, 895, {"quiet": 4, "never-wedged": 1}),
    ],
)
def test_two_clients_with_three_free_operations(
    names: str, clock: Axiom, states: int, transitions: int, found: dict[str, int]
) -> None:
    report = explore(Configuration(named(names), 3, clock=clock))
    assert (report.states, report.transitions) == (states, transitions)
    assert broken(report) == found


def test_legacy_loses_sooner_where_an_id_is_pending() -> None:
    initial = (List((b"a",)), None)
    report = explore(Configuration(named("legacy legacy"), 3, initial=initial))
    assert report.steps()["nothing-lost"] == 5
    assert report.states == 1768


def test_a_legacy_client_alone_is_correct_but_not_quiet() -> None:
    assert broken(explore(Configuration(named("legacy"), 4))) == {"quiet": 4}


def test_a_crash_wedges_set_and_list_and_loses() -> None:
    report = explore(Configuration(named("set+list set+list"), 3, crashes=1))
    assert report.steps()["never-wedged"] == 2
    assert report.steps()["nothing-lost"] == 3
    assert report.states == 3545
    wedged = report.verdicts["never-wedged"].trace
    assert wedged is not None
    assert [row.answer for row in wedged.aftermath] == [False, None]


@pytest.mark.parametrize(
    ("name", "clock", "states"),
    [
        ("list", "strict", 1716),
        ("zset", "strict", 1716),
        ("zset-strict", "any", 2442),
    ],
)
def test_the_storages_survive_lost_replies_and_crashes(
    name: str, clock: Axiom, states: int
) -> None:
    report = explore(Configuration((DESIGNS[name],) * 2, 3, clock=clock, lost=1, crashes=1))
    assert broken(report) == {}
    assert report.states == states


@pytest.mark.parametrize(
    ("properties", "lost", "states"),
    [
        (tuple(PROPERTIES), 0, 624),
        (("linearizable",), 1, 7543),
        # These two remember of a lost reply what linearizability does not.
        (tuple(name for name in PROPERTIES if name != "linearizable-to-bag"), 1, 7787),
        (tuple(PROPERTIES), 1, 8491),
    ],
)
def test_list_with_four_clients_and_five_operations(
    properties: tuple[str, ...], lost: int, states: int
) -> None:
    report = explore(Configuration(named("list list list list"), 5, lost=lost), properties)
    assert report.states == states
    assert broken(report) == {}


@pytest.mark.parametrize(
    ("scenario", "states", "found", "open_questions"),
    [
        (
            "rolling-upgrade",
            1255,
            {
                **dict.fromkeys(FALSE_ANSWERS, 3),
                "unique": 3,
                "nothing-lost": 5,
                "delivered-once": 5,
                "quiet": 3,
            },
            (),
        ),
        ("cutover", 56, {}, ("fifo",)),
        ("cutover-beside-old-host", 283, {"quiet": 2, "never-wedged": 1}, ("fifo",)),
        ("late-old-host", 9, {"never-wedged": 2}, ("fifo", "delivered-once", "quiet")),
        (
            "rollback",
            10,
            {"never-wedged": 0},
            (*FALSE_ANSWERS, "nothing-lost", "fifo", "delivered-once", "quiet"),
        ),
    ],
)
def test_deployments(
    scenario: str, states: int, found: dict[str, int], open_questions: tuple[str, ...]
) -> None:
    report = explore(SCENARIOS[scenario])
    assert report.steps() == found
    assert report.outcomes("UNDETERMINED") == open_questions
    assert report.states == states


def test_an_old_host_on_a_drained_key_wedges_the_new_ones() -> None:
    trace = explore(SCENARIOS["late-old-host"]).verdicts["never-wedged"].trace
    assert trace is not None
    assert [row.design for row in trace.rows] == ["legacy", "legacy"]
    assert [(row.client, row.design, row.answer) for row in trace.aftermath] == [
        (2, "zset", WRONGTYPE)
    ]


@pytest.mark.parametrize("name", ["zset", "zset-strict"])
@pytest.mark.parametrize("clock", AXIOMS)
def test_migration_keeps_the_first_copies_in_order(name: str, clock: Axiom) -> None:
    """Two hosts start on a LIST with repetitions; nobody enqueues, so the clock does not matter."""
    calls = ((START, DEQUEUE, DEQUEUE), (START, DEQUEUE))
    initial = (List((b"b", b"a", b"b")), None)
    report = explore(Configuration(named(f"{name} {name}"), calls, clock=clock, initial=initial))
    assert report.verdicts["linearizable"].outcome == "PROVED"
    assert report.states == 12

"""A counterexample is a run: it can be taken step by step, to where the property breaks."""

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from uniqfifo_spec.commands import Error
from uniqfifo_spec.designs import LIST, ZSET, Program, step
from uniqfifo_spec.explore import DEQUEUE, Configuration, Trace, enqueue, explore
from uniqfifo_spec.explore.clock import EPOCH, GAP, Axiom, earliest_after, ranked, readings
from uniqfifo_spec.explore.events import End
from uniqfifo_spec.keyspace import List, ZSet
from uniqfifo_spec.rejected import DESIGNS, LEGACY, SET_AND_LIST

pytestmark = pytest.mark.once

SPEC = Path(__file__).parents[1] / "spec"


def traces(configuration: Configuration) -> list[Trace]:
    found = [verdict.trace for verdict in explore(configuration).verdicts.values()]
    return [trace for trace in found if trace]


@pytest.mark.parametrize(
    "configuration",
    [
        Configuration((LEGACY, LEGACY), 3),
        Configuration((LEGACY, LEGACY, LEGACY), 2),
        Configuration((LEGACY, LIST), 2, lost=1, crashes=1),
        Configuration((SET_AND_LIST, SET_AND_LIST), 3, crashes=1),
        Configuration((LEGACY, SET_AND_LIST), 3),
        Configuration((LEGACY, LEGACY), 3, initial=(List((b"a",)), None)),
    ],
    ids=str,
)
def test_a_trace_can_be_taken_step_by_step(configuration: Configuration) -> None:
    """Clients that are alike change places in the search; in a trace each stays who it is."""
    for trace in traces(configuration):
        keys = trace.initial
        programs: dict[int, Program] = {}
        replies: dict[int, object] = {}
        for row in (*trace.rows, *trace.aftermath):
            if row.begins:
                assert row.client not in programs
                programs[row.client] = row.operation.program(DESIGNS[row.design])
            if row.command is not None:
                sent = programs[row.client].send(replies.get(row.client))
                assert sent == row.command
                reply, keys = step(sent, keys, EPOCH)
                replies[row.client] = reply
                assert (reply, keys) == (row.reply, row.keys)
            if row.end is not End.RUNNING:
                program, reply = programs.pop(row.client), replies.pop(row.client, None)
                if row.fault is None and not isinstance(reply, Error):
                    with pytest.raises(StopIteration) as over:
                        program.send(reply)
                    assert over.value.value == row.answer


def test_a_wedged_queue_comes_with_what_a_newcomer_meets() -> None:
    (trace,) = traces(Configuration((LIST, ZSET), 1))
    assert trace.broken == "never-wedged"
    assert [(row.client, row.reply) for row in trace.rows] == [(0, True)]
    assert [(row.client, row.design) for row in trace.aftermath] == [(2, "zset")]
    assert isinstance(trace.aftermath[-1].answer, Error)


@pytest.mark.parametrize(("clock", "mark"), [("nondecreasing", "same"), ("any", "earlier")])
def test_a_trace_says_where_the_clock_has_to_misbehave(clock: Axiom, mark: str) -> None:
    order, _ = traces(Configuration((ZSET, ZSET), 3, clock=clock))
    assert order.broken == "linearizable"
    assert [row.clock for row in order.rows] == ["later", mark, None]
    assert order.needs_clock


def test_a_trace_that_needs_no_clock_says_so() -> None:
    assert not any(trace.needs_clock for trace in traces(Configuration((LEGACY, ZSET), 3)))


def test_lost_replies_and_crashes_are_marked() -> None:
    calls = ((enqueue(b"a"),), (enqueue(b"a"), DEQUEUE))
    configuration = Configuration((SET_AND_LIST, SET_AND_LIST), calls, crashes=1)
    report = explore(configuration, ("never-wedged",))
    trace = report.verdicts["never-wedged"].trace
    assert trace and [row.fault for row in trace.rows] == [None, "crash"]
    assert trace.rows[-1].command is None


def test_ranks_keep_order_ties_and_neighbours() -> None:
    far, b, c = EPOCH + 500, b"b", b"c"
    value = ZSet(((3, b"a"), (far, b), (far, c), (far + 1, b"d"), (far + 7, b"e")))
    (ranks, _), _ = ranked((value, None), EPOCH)
    assert ranks == ZSet(
        (
            (1, b"a"),
            (EPOCH + GAP, b),
            (EPOCH + GAP, c),
            (EPOCH + GAP + 1, b"d"),
            (EPOCH + 2 * GAP + 1, b"e"),
        )
    )
    assert ranked((ranks, None), EPOCH) == ((ranks, None), EPOCH)


def test_every_way_a_reading_can_fall() -> None:
    low, high = EPOCH + GAP, EPOCH + 2 * GAP
    keys = (ZSet(((low, b"a"), (high, b"b"))), None)
    assert readings(keys, EPOCH) == [high + GAP, high, low + GAP // 2, low, low - GAP // 2]
    assert readings(keys, earliest_after("nondecreasing", high)) == [high + GAP, high]
    assert readings(keys, earliest_after("strict", high)) == [high + GAP]
    neighbours = (ZSet(((low, b"a"), (low + 1, b"b"))), None)
    assert len(readings(neighbours, EPOCH)) == 4


def test_the_clock_is_forgotten_but_for_what_it_rules_out() -> None:
    score = EPOCH + GAP
    keys = (ZSet(((score, b"a"),)), None)
    assert ranked((None, None), EPOCH + 99) == ((None, None), EPOCH)
    assert ranked(keys, score) == (keys, score)
    assert ranked(keys, score + 77) == (keys, score + 1)


REPORT = """
from uniqfifo_spec.explore import Configuration, explore
from uniqfifo_spec.rejected import DESIGNS
for names in ("legacy list", "set+list set+list", "zset zset-strict"):
    clients = tuple(DESIGNS[name] for name in names.split())
    report = explore(Configuration(clients, 2, clock="any", crashes=1))
    print(report.states, report.transitions, report.steps())
    for verdict in report.verdicts.values():
        for row in verdict.trace.rows if verdict.trace else ():
            print(row.client, row.operation, row.reply, row.keys, row.end, row.clock)
"""


def test_every_run_finds_the_same() -> None:
    """Hash seeds order sets of bytes differently."""
    reports = {
        subprocess.run(
            [sys.executable, "-c", REPORT],
            env={"PYTHONPATH": str(SPEC), "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }
    assert len(reports) == 1
    assert hashlib.sha256(reports.pop()).hexdigest()[:16] == "6c50eb148b8a1c5d"

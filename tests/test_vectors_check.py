"""The implementation passes the test vectors on every server, and the wrong ones do not."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import wrong
from uniqfifo_spec.conformance.bench import Bench, at_url, embedded
from uniqfifo_spec.conformance.implementations import UNIQFIFO
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.vectors_check import run_vectors
from uniqfifo_spec.vectors.vector import FLOORS

pytestmark = pytest.mark.once

COUNTS = {"list": 57, "zset": 103, "zset-strict": 106}
FLOOR_SERVERS = {"2.8.17": "redis-2.8", "3.2": "redis-3.2"}


def checked(bench: Bench, implementation: Implementation, storage: str) -> Report:
    report = Report(storage)
    totals = {total for _, total in run_vectors(bench, implementation, storage, report)}
    assert totals == {COUNTS[storage]}
    assert bench.keys("{uniqfifo-check}-") == []
    return report


def problems(report: Report) -> list[str]:
    return [tally.problem for tally in report.tallies.values() if tally.failures]


@pytest.mark.parametrize("storage", COUNTS)
def test_every_vector_on_the_embedded_server(storage: str) -> None:
    with embedded() as bench:
        assert problems(checked(bench, UNIQFIFO, storage)) == []


@pytest.mark.parametrize("storage", COUNTS)
def test_every_vector_on_a_real_server(server: Server, storage: str) -> None:
    with at_url(server.url) as bench:
        assert problems(checked(bench, UNIQFIFO, storage)) == []


@pytest.mark.servers("redis-2.8", "redis-3.2")
@pytest.mark.parametrize("storage", COUNTS)
def test_every_vector_on_the_server_that_it_names_as_its_floor(
    server: Server, server_name: str, storage: str
) -> None:
    if FLOOR_SERVERS[FLOORS[storage]] != server_name:
        return
    with at_url(server.url) as bench:
        assert problems(checked(bench, UNIQFIFO, storage)) == []


def reports(bench: Bench, name: str) -> list[Report]:
    implementation = wrong.implementation(name)
    return [checked(bench, implementation, storage) for storage in implementation.storages]


# On the embedded server the clock is not that of the machine, so that even a client's clock shows.
@pytest.mark.parametrize("name", wrong.WRONG)
def test_every_wrong_implementation_is_caught(name: str) -> None:
    with embedded() as bench:
        assert not any(report.conforms for report in reports(bench, name))


@pytest.mark.parametrize("name", wrong.EQUIVALENT)
def test_no_right_implementation_is_refused(name: str) -> None:
    with embedded() as bench:
        assert [problems(report) for report in reports(bench, name)] == [[]]


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize(
    ("name", "caught"),
    [
        ("seconds only", True),
        ("milliseconds", True),
        ("tostring score", True),  # near enough to the truth, but all of them end in 00
        ("unpadded glue", True),  # it waits for a second that has just begun
        ("client clock", False),  # on one machine both are the same
    ],
)
def test_what_shows_of_clocks_on_a_real_server(server: Server, name: str, caught: bool) -> None:
    with at_url(server.url) as bench:
        assert [not report.conforms for report in reports(bench, name)] == [caught]


@pytest.mark.parametrize(("name", "calls"), [("RPOP", 2), ("ZREVRANGE", 2), ("LREM -1", 5)])
def test_a_failure_names_its_vector_and_comes_with_a_program(name: str, calls: int) -> None:
    with embedded() as bench:
        (report,) = reports(bench, name)
    tally = next(tally for tally in report.tallies.values() if tally.failures)
    assert tally.problem.startswith(f"vector {report.storage}-walk-")
    assert tally.reproducer.count("print(") <= calls + 2
    done = subprocess.run(
        [sys.executable, "-c", tally.reproducer], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_failure_that_takes_more_than_its_vector_names_it_all_the_same() -> None:
    with embedded() as bench:
        report = reports(bench, "local cache of seen ids")[0]
    failed = [tally for tally in report.tallies.values() if tally.failures]
    assert all(tally.problem.startswith("vector ") for tally in failed)
    assert not all(tally.reproducer for tally in failed)

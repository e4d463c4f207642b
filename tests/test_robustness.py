"""Each fault on one server, and the proof that a run can fail. All of them: tests/robustness."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests import servers
from tests.robustness import record
from tests.robustness.cli import main, quick_cells
from tests.robustness.faults import FAULTS
from tests.robustness.run import run
from tests.robustness.soak import leaks, soak
from tests.robustness.verdict import Kind, kinds
from uniqfifo_spec.history import UNTOLD, Call, History, Outcome

pytestmark = pytest.mark.once

RECORD = Path(__file__).parent / "robustness" / "RECORD.md"
SECONDS = 1.5
BinaryOf = Callable[[str], str]


@pytest.mark.parametrize(
    ("name", "server"), [(fault.name, server) for fault, server in quick_cells()]
)
def test_what_is_expected_comes_of_a_fault(name: str, server: str, binary_of: BinaryOf) -> None:
    binary_of(server)
    result = run(FAULTS[name], server, SECONDS, seed=1)
    assert result.problems == [], result.observed


def found(name: str, implementation: str, server: str) -> set[Kind]:
    result = run(FAULTS[name], server, 2 * SECONDS, seed=1, implementation=implementation)
    return set().union(*result.verdicts.values())


@pytest.mark.parametrize("server", ["redis-7.0", "valkey-9.1"])
def test_the_legacy_algorithm_is_found_to_duplicate_and_to_lose(
    server: str, binary_of: BinaryOf
) -> None:
    binary_of(server)
    assert found("none", "legacy", server) >= {Kind.DUPLICATED, Kind.LOST}


@pytest.mark.parametrize(
    ("name", "server"), [("reply-swallowed", "redis-6.2"), ("cluster-node-stopped", "redis-8.2")]
)
def test_a_client_that_sends_again_is_found_to_eat_the_head(
    name: str, server: str, binary_of: BinaryOf
) -> None:
    binary_of(server)
    assert Kind.LOST in found(name, "retrying", server)


def test_a_fault_that_is_not_felt_is_no_pass(binary_of: BinaryOf) -> None:
    binary_of("redis-7.0")
    result = run(replace(FAULTS["none"], seen=True), "redis-7.0", 0.3, seed=1)
    assert result.problems == ["no call failed: the fault was not felt"]


def test_what_is_not_expected_is_a_problem(binary_of: BinaryOf) -> None:
    binary_of("redis-7.0")
    stern = replace(FAULTS["killed-no-aof"], rolls_back=False, unknown=False, refused=frozenset())
    problems = "; ".join(run(stern, "redis-7.0", SECONDS, seed=1).problems)
    for queue in ("list", "zset", "strict"):
        assert f"{queue}: rolled back" in problems


ADDED = Call("c1", "enqueue", b"a", 1, 2, True)
TAKEN = Call("c1", "dequeue", None, 3, 4, b"a")
MAYBE_TAKEN = Call("c2", "dequeue", None, 3, 4, UNTOLD, Outcome.UNKNOWN)
B_ADDED, B_TAKEN = replace(ADDED, id=b"b", call=2.5, ret=2.6), replace(TAKEN, answer=b"b")


@pytest.mark.parametrize(
    ("history", "kind"),
    [
        (History((ADDED, TAKEN), (), ()), {Kind.EXPLAINED}),
        (History((ADDED,), (), (), (3, 4)), {Kind.ROLLED_BACK}),
        (History((ADDED,), (), ()), {Kind.LOST}),
        (History((ADDED, MAYBE_TAKEN), (), ()), {Kind.EXPLAINED}),
        (History((replace(ADDED, answer=False),), (b"a",), ()), {Kind.LOST}),
        (History((ADDED, TAKEN, replace(TAKEN, call=5, ret=6)), (), ()), {Kind.DUPLICATED}),
        (History((ADDED,), (), (b"a", b"a")), {Kind.DUPLICATED}),
        (History((ADDED, B_ADDED, B_TAKEN), (), (b"a",)), {Kind.REORDERED}),
        (History((ADDED, replace(TAKEN, answer=None)), (), (b"a",)), {Kind.UNEXPLAINED}),
    ],
)
def test_every_kind_of_verdict(history: History, kind: set[Kind]) -> None:
    assert kinds(history) == kind


def test_a_soak(binary_of: BinaryOf) -> None:
    binary_of("redis-7.0")
    (seen,) = soak("redis-7.0", 10, seed=1)
    assert seen.is_right and seen.calls > 1000
    assert leaks([seen, seen]) == []
    grown = replace(
        seen,
        client_memory=2 * seen.client_memory,
        server_memory=2 * seen.server_memory,
        connections=25,
    )
    assert len(leaks([seen, grown])) == 3


def test_the_record_has_every_fault_on_every_server_as_expected() -> None:
    text = RECORD.read_text("utf-8")
    for fault in FAULTS.values():
        assert record.title(fault) in text
        for server in fault.servers:
            assert f"`{record.command(fault.name, server)}`" in text
    rows = [line for line in text.splitlines() if line.startswith("| ") and "`" in line]
    assert len(rows) == sum(len(fault.servers) for fault in FAULTS.values())
    assert all("| as expected |" in row for row in rows)
    assert len(FAULTS) >= 24


def test_the_command(binary_of: BinaryOf, tmp_path: Path) -> None:
    binary_of("redis-7.0")
    file = tmp_path / "record.md"
    runner = CliRunner()
    cell = ["--fault", "readonly", "--server", "redis-7.0", "--seconds", "1"]
    done = runner.invoke(main, [*cell, "--seed", "2", "--record", f"{file}"])
    assert done.exit_code == 0, done.output
    assert "1 runs: 1 as expected, 0 not" in done.output
    assert "| redis-7.0 | as expected |" in file.read_text("utf-8")
    done = runner.invoke(
        main,
        [
            "--fault",
            "none",
            "--server",
            "redis-7.0",
            "--seconds",
            "1",
            "--implementation",
            "legacy",
        ],
    )
    assert done.exit_code == 1, done.output
    assert runner.invoke(main, ["--fault", "nothing-like-it"]).exit_code == 2
    assert "script-flush" in runner.invoke(main, ["--list"]).output


def test_a_missing_server_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "binary", lambda name: None)
    monkeypatch.setattr(servers, "why_missing", lambda name: "it is not there")
    done = CliRunner().invoke(main, ["--fault", "none", "--server", "redis-7.0"])
    assert done.exit_code == 3
    assert "SKIPPED none on redis-7.0: it is not there" in done.output

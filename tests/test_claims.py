"""`spec/CLAIMS.md`: every command that it names runs, and says what the verdict says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.test_cli import uniqfifo

pytestmark = pytest.mark.once

ROOT = Path(__file__).parent.parent
LEDGER = (ROOT / "spec" / "CLAIMS.md").read_text("utf-8")
VERDICT = re.compile(r"holds|false|holds if \S.*")


@dataclass(frozen=True, slots=True)
class Row:
    number: int
    section: str
    claim: str
    by: str
    verdict: str
    why: str
    command: str

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command)

    @property
    def exit_code(self) -> int:
        """What `uniqfifo` has to exit with for the verdict to be true: see the ledger's preface."""
        return int((self.verdict == "holds") != self.section.startswith("Promises"))


def rows_of(text: str) -> list[Row]:
    found: list[Row] = []
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:]
        if re.match(r"\| \d", line):
            number, claim, by, verdict, why, command = (
                cell.strip() for cell in line.strip("| ").split("|")
            )
            assert re.fullmatch(r"`[^`]+`", command), line
            found.append(Row(int(number), section, claim, by, verdict, why, command.strip("`")))
    return found


ROWS = rows_of(LEDGER)


def ran(row: Row) -> tuple[int, str]:
    """The exit code, and stderr, where a fault of the tool's own shows: it may exit with 1, too."""
    done = uniqfifo(*row.words[1:])
    return done.returncode, done.stderr


def bears_out(row: Row) -> bool:
    return ran(row) == (row.exit_code, "")


def missing_tests(ids: Iterable[str]) -> str:
    """What pytest says of the node ids that it cannot find."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run([*command, *ids], capture_output=True, text=True, check=False, cwd=ROOT)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def test_the_ledger_is_complete_and_in_order() -> None:
    assert [row.number for row in ROWS] == [*range(1, len(ROWS) + 1)]
    assert len(ROWS) == 58
    documents = [row for row in ROWS if row.section.startswith(("Promises", "Warnings"))]
    assert len(documents) == 49 and all(row.by in ("L", "Z", "L, Z") for row in documents)
    assert all(row.claim and row.why for row in ROWS if row.verdict != "holds")


def test_every_verdict_is_one_of_three_kinds() -> None:
    assert [row.number for row in ROWS if not VERDICT.fullmatch(row.verdict)] == []
    kinds = {" ".join(row.verdict.split()[:2]) for row in ROWS}
    assert kinds == {"holds", "holds if", "false"}
    assert not VERDICT.fullmatch("holds if ") and not VERDICT.fullmatch("mostly")


def test_every_row_names_a_command_of_the_project() -> None:
    assert {row.words[0] for row in ROWS} == {"uniqfifo", "pytest"}
    assert {row.words[1] for row in ROWS if row.words[0] == "uniqfifo"} == {"explore", "check"}


COMMANDS = {row.command: row for row in ROWS if row.words[0] == "uniqfifo"}


def test_one_command_is_not_evidence_for_opposite_verdicts() -> None:
    codes = {(row.command, row.exit_code) for row in ROWS if row.words[0] == "uniqfifo"}
    assert len(codes) == len(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_exploration_bears_out_its_verdict(command: str) -> None:
    row = COMMANDS[command]
    assert ran(row) == (row.exit_code, "")


RUNS = re.findall(
    r"^\*\*Run (\w)\*\*, row (\d+): .+\n\n```text\n((?:(?!```).*\n)+)```", LEDGER, re.MULTILINE
)


def test_every_run_that_is_referred_to_is_shown() -> None:
    assert [(name, int(row)) for name, row, _ in RUNS] == sorted(
        (name, row.number) for row in ROWS for name in re.findall(r"\brun (\w)\b", row.why)
    )


@pytest.mark.parametrize(("row", "run"), [run[1:] for run in RUNS], ids=[run[0] for run in RUNS])
def test_every_run_is_as_it_is_printed(row: str, run: str) -> None:
    printed = uniqfifo(*ROWS[int(row) - 1].words[1:]).stdout
    lines = [line.rstrip() for line in printed.splitlines()]
    assert [*lines, ""][-run.count("\n") - 1 :] == run.split("\n")


def test_every_test_that_is_named_exists() -> None:
    """They run with the suite, and are not run a second time here."""
    named = {word for row in ROWS if row.words[0] == "pytest" for word in row.words[1:]}
    assert len(named) > 20
    assert missing_tests(sorted(named)) == ""


MADE_UP = """
## Promises: that something goes right

| # | claim | by | verdict | why, or what breaks it | shown by |
| --- | --- | --- | --- | --- | --- |
| 1 | Legacy hosts never add a twin. | L | holds | | `uniqfifo explore legacy --property unique` |
| 2 | A LIST keeps order. | L | false | it does not | `uniqfifo explore list --property fifo` |
| 3 | A LIST keeps order. | L | holds | | `uniqfifo explore lists --property fifo` |
| 4 | A LIST keeps order. | L | false | it does not | `uniqfifo explore list --sparkling` |

## Warnings: that something goes wrong

| 5 | Hosts lose ids. | L | holds | | `uniqfifo explore list --property nothing-lost` |
| 6 | Legacy hosts lose ids. | L | false | no | `uniqfifo explore legacy --property nothing-lost` |
"""


def test_a_wrong_verdict_shows() -> None:
    rows = rows_of(MADE_UP)
    with ThreadPoolExecutor(2) as pool:
        assert [*pool.map(bears_out, rows)] == [False] * 6


def test_a_test_that_does_not_exist_shows() -> None:
    assert "not found" in missing_tests(["tests/test_claims.py::test_that_is_not_there"])

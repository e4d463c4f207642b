"""A check's reports as people and other programs read them: text, HTML, JSON, JUnit XML."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.terminal_theme import DEFAULT_TERMINAL_THEME

from uniqfifo_spec.clauses import CLAUSES
from uniqfifo_spec.conformance.expected import ExpectedFailures
from uniqfifo_spec.conformance.report import Report, Tally

_COLOURS = {"conforms": "green", "does not conform": "red", "undecided": "yellow"}


def show(console: Console, title: str, reports: Sequence[Report]) -> None:
    """Print the clauses as a table, the verdicts, and how to see what failed."""
    table = Table(title=f"{escape(title)}: cases judged", title_justify="left")
    table.add_column("clause", no_wrap=True)
    table.add_column("requirement")
    for report in reports:
        table.add_column(report.storage, justify="right", no_wrap=True)
    for clause, heading in CLAUSES.items():
        tallies = [report.tallies.get(clause) for report in reports]
        if any(tallies):
            table.add_row(clause, heading, *map(_cell, tallies))
    console.print(table)
    judged = {clause for report in reports for clause in report.tallies}
    rest = [clause for clause in CLAUSES if clause not in judged]
    console.print(f"Not judged by this check: {', '.join(rest)}.\n")
    for report in reports:
        colour = _COLOURS[report.verdict]
        console.print(
            f"{report.storage}: [{colour}]{report.verdict}[/] "
            f"({report.transitions:,} transitions, {report.steps:,} random calls)"
        )
    for report in reports:
        for clause, tally in report.tallies.items():
            if tally.failures:
                console.print(f"\n[red]{clause} fails for {report.storage}:[/] ", end="")
                console.print(tally.problem, markup=False)
            if tally.reproducer:
                console.print(f"\n{tally.reproducer}", markup=False, soft_wrap=True)


def _cell(tally: Tally | None) -> str:
    if tally is None:
        return ""
    if tally.failures:
        return f"[red]{tally.failures:,} of {tally.cases:,} fail[/]"
    if tally.undecided:
        return f"[yellow]{tally.undecided:,} of {tally.cases:,} open[/]"
    return f"{tally.cases:,}"


def as_json(title: str, profile: str, reports: Sequence[Report]) -> str:
    """The reports as one JSON object."""
    return json.dumps(
        {
            "check": title,
            "profile": profile,
            "conforms": all(report.verdict == "conforms" for report in reports),
            "storages": [report.as_json() for report in reports],
        },
        indent=2,
    )


def write(page: Path, title: str, reports: Sequence[Report], expected: ExpectedFailures) -> None:
    """Write the reports to a file: JUnit XML if its name ends in .xml, else HTML."""
    if page.suffix == ".xml":
        _junit(title, reports, expected).write(str(page), pretty=True)
        return
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=100, highlight=False, file=nowhere)
        show(console, title, reports)
        console.save_html(str(page), theme=DEFAULT_TERMINAL_THEME)


def _junit(title: str, reports: Sequence[Report], expected: ExpectedFailures) -> JUnitXml:
    """One suite for each storage, one test case for each clause."""
    xml = JUnitXml(title)
    for report in reports:
        suite = TestSuite(report.storage)
        for clause, heading, tally in report.rows():
            case = TestCase(f"{clause} {heading}", classname=report.storage)
            if tally.failures and (report.storage, clause) in expected.reasons:
                case.result = [Skipped(expected.reasons[report.storage, clause])]
            elif tally.failures:
                case.result = [Failure(tally.problem)]
                case.system_out = tally.reproducer
            elif tally.undecided:
                case.result = [Skipped("undecided")]
            suite.add_testcase(case)
        xml.add_testsuite(suite)
    return xml


def failures(reports: Sequence[Report]) -> set[tuple[str, str]]:
    """(storage, clause) of everything that failed."""
    return {
        (report.storage, clause)
        for report in reports
        for clause, tally in report.tallies.items()
        if tally.failures
    }

"""`uniqfifo check`: the clauses as a table, one column for each storage."""

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import click
import redis
from rich import terminal_theme
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from uniqfifo_spec.clauses import CLAUSES
from uniqfifo_spec.conformance import check as checks
from uniqfifo_spec.conformance.bench import Bench, at_url, embedded, spawned
from uniqfifo_spec.conformance.implementations import UNIQFIFO
from uniqfifo_spec.conformance.machine import PROFILES
from uniqfifo_spec.conformance.report import Report, Tally
from uniqfifo_spec.conformance.spawn import CannotSpawn, default_binary


@click.command()
@click.argument("url", required=False)
@click.option(
    "--spawn",
    "binary",
    is_flag=False,
    flag_value="",
    metavar="[BINARY]",
    help="Start a private server for the run: this binary, or the one on PATH.",
)
@click.option(
    "--storage",
    "storages",
    multiple=True,
    type=click.Choice(UNIQFIFO.storages),
    help="Check this storage only; may be repeated.  [default: all]",
)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="quick",
    show_default=True,
    help="How long the random sequences go on.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option(
    "--report",
    "page",
    type=click.Path(dir_okay=False, writable=True, path_type=Path),
    help="Write the result as an HTML page, too.",
)
def check(
    url: str | None,
    binary: str | None,
    storages: tuple[str, ...],
    profile: str,
    as_json: bool,
    page: Path | None,
) -> None:
    """Compare the queue with its specification, clause by clause.

    On the server at URL, under a fresh prefix that is removed in the end; without URL on an
    embedded server. Exits 0 if every clause holds, 1 if not, 2 if the check could not run.
    """
    if url and binary is not None:
        raise click.UsageError("give a URL or --spawn, not both")
    if url and binary is not None:
        raise click.UsageError("give a URL or --spawn, not both")
    try:
        with _bench(url, binary) as bench, _progress(as_json) as progress:
            reports = checks.check(
                bench, UNIQFIFO, storages or UNIQFIFO.storages, profile, progress
            )
            name = bench.name
    except ModuleNotFoundError as missing:
        message = f"the embedded server needs {missing.name}: pip install 'uniqfifo[check]'"
        raise click.ClickException(message) from None
    except (CannotSpawn, redis.RedisError, OSError, ValueError) as error:
        raise click.ClickException(f"the check could not run: {error}") from None
    if as_json:
        click.echo(json.dumps(_as_json(name, reports, profile), indent=2))
    else:
        _show(Console(highlight=False), name, reports)
    if page:
        with Path(os.devnull).open("w") as nowhere:
            console = Console(record=True, width=100, highlight=False, file=nowhere)
            _show(console, name, reports)
            console.save_html(str(page), theme=terminal_theme.DEFAULT_TERMINAL_THEME)
    sys.exit(0 if all(report.conforms for report in reports) else 1)


def _bench(url: str | None, binary: str | None) -> AbstractContextManager[Bench]:
    if url:
        return at_url(url)
    if binary is not None:
        return spawned(binary or default_binary())
    return embedded()


@contextmanager
def _progress(hidden: bool) -> Iterator[checks.Progress]:
    """A bar on a terminal; nothing in a pipe, and nothing beside JSON."""
    console = Console(stderr=True)
    with Progress(
        console=console, transient=True, disable=hidden or not console.is_terminal
    ) as bar:
        task = bar.add_task("")

        def show(what: str, done: int, total: int) -> None:
            bar.update(task, description=what, completed=done, total=total or None)

        yield show


def _show(console: Console, server: str, reports: Sequence[Report]) -> None:
    table = Table(title=f"{UNIQFIFO.name} on {server}: cases judged", title_justify="left")
    table.add_column("clause", no_wrap=True)
    table.add_column("requirement")
    for report in reports:
        table.add_column(report.storage, justify="right", no_wrap=True)
    for clause, title in CLAUSES.items():
        tallies = [report.tallies.get(clause) for report in reports]
        if any(tallies):
            table.add_row(clause, title, *map(_cell, tallies))
    console.print(table)
    judged = {clause for report in reports for clause in report.tallies}
    rest = [clause for clause in CLAUSES if clause not in judged]
    console.print(f"Not judged by this check: {', '.join(rest)}.\n")
    for report in reports:
        verdict = "[green]conforms[/]" if report.conforms else "[red]does not conform[/]"
        console.print(
            f"{report.storage}: {verdict} "
            f"({report.transitions:,} transitions, {report.steps:,} random calls)"
        )
    for report in reports:
        for clause, tally in report.tallies.items():
            if tally.reproducer:
                console.print(f"\n[red]{clause} fails for {report.storage}.[/] To see it:\n")
                console.print(tally.reproducer, markup=False, soft_wrap=True)


def _cell(tally: Tally | None) -> str:
    if tally is None:
        return ""
    if tally.failures:
        return f"[red]{tally.failures:,} of {tally.cases:,} fail[/]"
    return f"{tally.cases:,}"


def _as_json(server: str, reports: Sequence[Report], profile: str) -> dict[str, Any]:
    return {
        "implementation": UNIQFIFO.name,
        "server": server,
        "profile": profile,
        "conforms": all(report.conforms for report in reports),
        "storages": [report.as_json() for report in reports],
    }

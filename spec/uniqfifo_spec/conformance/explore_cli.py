"""`uniqfifo explore` and `uniqfifo replay`: the matrix of designs, a configuration, its traces."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any, TextIO

import click
import redis
from rich.console import Console
from rich.progress import Progress

from uniqfifo import NotExecuted, scripts
from uniqfifo.refusals import without_secrets
from uniqfifo_spec.conformance.bench import raw_client, server_name
from uniqfifo_spec.conformance.replay import Replayed
from uniqfifo_spec.conformance.replay import replay as replayed
from uniqfifo_spec.conformance.trace_table import matrix_table, trace_table, verdict_table
from uniqfifo_spec.designs import Design
from uniqfifo_spec.explore import PROPERTIES, Configuration, Report, Trace
from uniqfifo_spec.explore import explore as explored
from uniqfifo_spec.explore.matrix import matrix, pairs
from uniqfifo_spec.explore.scenarios import SCENARIOS
from uniqfifo_spec.explore.trace_json import report_as_json
from uniqfifo_spec.keyspace import List
from uniqfifo_spec.rejected import DESIGNS

SCRIPTS = {
    "list.enqueue": scripts.LIST_ENQUEUE.text,
    "zset.enqueue": scripts.ZSET_ENQUEUE.text,
    "zset-strict.enqueue": scripts.ZSET_STRICT_ENQUEUE.text,
    **{f"{name}.dequeue": scripts.ZSET_DEQUEUE.text for name in ("zset", "zset-strict")},
    **{f"{name}.start": scripts.MIGRATE.text for name in ("zset", "zset-strict")},
}

LEGEND = (
    "\nTwo clients, one of each design, {operations} calls each. A number: the fewest steps that "
    "break the property; lin.: linearizable to. Only with ties: if the server's clock repeats a "
    "reading; back: if it goes back; fault: if a reply is lost or a client crashes."
)


@click.command()
@click.argument("designs", required=False, metavar="[DESIGN[+DESIGN…]]")
@click.option("--scenario", type=click.Choice(list(SCENARIOS)), help="A deployment, by name.")
@click.option("--clients", type=click.IntRange(1, 8), help="How many; designs are taken in turn.")
@click.option("--ops", type=click.IntRange(1, 20), default=3, show_default=True, help="Calls each.")
@click.option(
    "--clock",
    type=click.Choice(["strict", "nondecreasing", "any"]),
    default="strict",
    show_default=True,
    help="What is assumed of the server's clock.",
)
@click.option("--initial", metavar="IDS", help="Start from a LIST of these ids, as in a,b,a.")
@click.option("--lost", type=click.IntRange(0), default=1, show_default=True, help="Lost replies.")
@click.option("--crashes", is_flag=True, help="Let one client crash, too.")
@click.option(
    "--property",
    "properties",
    multiple=True,
    type=click.Choice(list(PROPERTIES)),
    help="Decide this one only; may be repeated.  [default: all]",
)
@click.option("--limit", type=click.IntRange(1), default=2_000_000, help="States, at most.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON, for replay.")
def explore(
    designs: str | None,
    scenario: str | None,
    clients: int | None,
    ops: int,
    clock: Any,
    initial: str | None,
    lost: int,
    crashes: bool,
    properties: tuple[str, ...],
    limit: int,
    as_json: bool,
) -> None:
    """Take every interleaving of clients that share a queue, and look for broken promises.

    Without DESIGN, every pair of designs: a map, which exits 0. Designs are legacy, list, zset,
    zset-strict and set+list; legacy+list is one client of each, legacy two. Exits 0 if every
    property is proved within the bounds, 1 if one is refuted, 3 if nothing is refuted and
    something not decided.
    """
    if not (designs or scenario):
        if properties or initial or clients or crashes:
            raise click.UsageError("these options are for one configuration: name the designs")
        _print_matrix(ops, as_json)
        return
    if designs and scenario:
        raise click.UsageError("give designs or --scenario, not both")
    if scenario:
        configuration = SCENARIOS[scenario]
    else:
        start = List(tuple(id.encode() for id in initial.split(","))) if initial else None
        configuration = Configuration(_clients(designs or "", clients), ops, initial=(start, None))
    faults = replace(configuration, clock=clock, lost=lost, crashes=int(crashes))
    with _bar(as_json) as progress:
        task = progress.add_task("states", total=None)
        report = explored(
            faults,
            properties or tuple(PROPERTIES),
            limit=limit,
            progress=lambda states: progress.update(task, completed=states),
        )
    if as_json:
        click.echo(json.dumps(report_as_json(report), indent=2))
    else:
        _print_report(Console(highlight=False), report)
    refuted, undetermined = report.outcomes("REFUTED"), report.outcomes("UNDETERMINED")
    sys.exit(1 if refuted else 3 if undetermined else 0)


@click.command()
@click.argument("trace", type=click.File(encoding="utf-8"))
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def replay(trace: TextIO, url: str, as_json: bool) -> None:
    """Take the counterexamples of `explore --json` step by step on the server at URL.

    TRACE is a file, or - for standard input. Works under a fresh prefix, which is removed in the
    end. Exits 0 if the server does what the model says, 1 if not, 2 if that could not be tried,
    3 if a counterexample needs the server's clock to repeat a reading or to go back.
    """
    found: dict[str, Replayed] = {}
    try:
        traces = _traces(json.load(trace))
    except (ValueError, KeyError, TypeError, AttributeError):
        raise click.ClickException("TRACE is not what `uniqfifo explore --json` prints") from None
    try:
        with raw_client(url) as client:
            server = server_name(client)
            for name, steps in traces.items():
                found[name] = replayed(steps, client, SCRIPTS)
    except (redis.RedisError, NotExecuted, OSError, ValueError) as error:
        raise click.ClickException(f"the replay could not run: {without_secrets(error)}") from None
    except (KeyError, TypeError, AttributeError):
        raise click.ClickException("TRACE is not what `uniqfifo explore --json` prints") from None
    if not found:
        raise click.ClickException("TRACE holds no counterexample")
    if as_json:
        outcomes = {
            name: {"outcome": each.outcome, "why": each.why} for name, each in found.items()
        }
        click.echo(json.dumps({"server": server, "traces": outcomes}, indent=2))
    else:
        for name, each in found.items():
            where = f" on {server}" if each.outcome != "undecided" else ""
            click.echo(f"{name}: {each.outcome}{where}{each.why and f': {each.why}'}")
    reached = {each.outcome for each in found.values()}
    sys.exit(1 if "differs" in reached else 3 if "undecided" in reached else 0)


def _traces(found: dict[str, Any]) -> dict[str, Any]:
    """The traces of a report, or the one that was given, by the property that they break."""
    if "steps" in found:
        return {found["property"]: found}
    verdicts: dict[str, Any] = found["verdicts"]
    return {name: verdict["trace"] for name, verdict in verdicts.items() if "trace" in verdict}


def _clients(names: str, number: int | None) -> tuple[Design, ...]:
    designs = [DESIGNS[name] for name in _split(names)]
    number = number or max(2, len(designs))
    return tuple(designs[client % len(designs)] for client in range(number))


def _split(names: str) -> Iterator[str]:
    """Names of designs; one of them has a plus sign of its own."""
    rest = f"{names}+"
    while rest:
        fitting = next((name for name in DESIGNS if rest.startswith(f"{name}+")), None)
        if fitting is None:
            raise click.UsageError(f"no such design: {rest[:-1]!r}; there are {', '.join(DESIGNS)}")
        yield fitting
        rest = rest.removeprefix(f"{fitting}+")


def _print_matrix(operations: int, as_json: bool) -> None:
    with _bar(as_json) as progress:
        task = progress.add_task("pairs of designs", total=len(pairs()))
        rows = matrix(operations, progress=lambda _: progress.advance(task))
    if as_json:
        click.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    console = Console(highlight=False)
    console.print(matrix_table(rows))
    console.print(LEGEND.format(operations=operations))


def _print_report(console: Console, report: Report) -> None:
    console.print(f"{report.configuration}\n{report.states:,} states\n")
    console.print(verdict_table(report))
    for trace, names in _distinct(report):
        console.print(f"\n[bold]Not {', not '.join(names)}:[/]\n")
        console.print(trace_table(trace))


def _distinct(report: Report) -> list[tuple[Trace, list[str]]]:
    """Each trace once, with the properties that it breaks."""
    found: list[tuple[Trace, list[str]]] = []
    for name, verdict in report.verdicts.items():
        trace = verdict.trace
        if trace is None:
            continue
        for other, names in found:
            if (other.rows, other.aftermath) == (trace.rows, trace.aftermath):
                names.append(name)
                break
        else:
            found.append((trace, [name]))
    return found


@contextmanager
def _bar(hidden: bool) -> Iterator[Progress]:
    """A bar on a terminal; nothing in a pipe, and nothing beside JSON."""
    console = Console(stderr=True)
    disable = hidden or not console.is_terminal
    with Progress(console=console, transient=True, disable=disable) as progress:
        yield progress

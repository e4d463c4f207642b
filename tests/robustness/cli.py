"""The command line of the runner."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Iterator
from pathlib import Path

import click

from tests import servers
from tests.robustness import record, wrong
from tests.robustness.catalogue import Fault
from tests.robustness.faults import FAULTS
from tests.robustness.run import Result, run

SECONDS, SEED = 3.0, 1


@click.command()
@click.option("--fault", "faults", multiple=True, type=click.Choice(list(FAULTS)), metavar="NAME")
@click.option(
    "--server", "names", multiple=True, type=click.Choice(list(servers.SOURCES)), metavar="NAME"
)
@click.option(
    "--seconds",
    default=SECONDS,
    type=click.FloatRange(min=0.1),
    show_default=True,
    help="of traffic in each run",
)
@click.option("--seed", default=SEED, show_default=True)
@click.option(
    "--implementation",
    default="ours",
    show_default=True,
    type=click.Choice(["ours", *wrong.IMPLEMENTATIONS]),
    help="a wrong one shows that a run can fail",
)
@click.option("--quick", is_flag=True, help="each fault on one server only")
@click.option(
    "--record",
    "record_file",
    type=click.Path(path_type=Path),
    help="write the results of all runs into this file, as a table",
)
@click.option("--list", "listing", is_flag=True, help="list the faults and their servers")
def main(
    faults: tuple[str, ...],
    names: tuple[str, ...],
    seconds: float,
    seed: int,
    implementation: str,
    quick: bool,
    record_file: Path | None,
    listing: bool,
) -> None:
    """Strike real servers and clients with faults under load, and judge every call.

    Without --fault all of them, without --server on every server for which a fault is meant. Exits
    with 0 if all is as expected, 1 if something is not, 3 if something could not be run.
    """
    cells = list(quick_cells(faults) if quick else _cells(faults, names))
    if listing:
        for fault in dict.fromkeys(fault for fault, _ in cells):
            click.echo(f"{fault.name:26}{fault.about}\n{'':26}{' '.join(fault.servers)}")
        return
    if not cells:
        raise click.UsageError("no such fault is meant for such a server: see --list")
    if record_file and not record_file.parent.is_dir():
        raise click.UsageError(f"there is no folder {record_file.parent} for the record")
    results: list[Result] = []
    missing = broken = 0
    for fault, server in cells:
        began = time.monotonic()
        try:
            result = run(fault, server, seconds, seed, implementation)
        except servers.Missing as why:
            click.echo(f"SKIPPED {fault.name} on {server}: {why}")
            missing += 1
            continue
        except Exception:  # of the run itself; the others are worth having all the same
            click.echo(f"BROKEN  {fault.name} on {server}\n{traceback.format_exc()}")
            broken += 1
            continue
        results.append(result)
        _show(result, time.monotonic() - began)
    wrong_ones = sum(bool(result.problems) for result in results)
    click.echo(
        f"{len(results)} runs: {len(results) - wrong_ones} as expected, {wrong_ones} not"
        + (f"; {missing} skipped" if missing else "")
        + (f"; {broken} broken" if broken else "")
    )
    if record_file:
        record_file.write_text(record.table(results))
    sys.exit(1 if wrong_ones or broken else 3 if missing else 0)


def _cells(faults: tuple[str, ...], names: tuple[str, ...]) -> Iterator[tuple[Fault, str]]:
    """Every fault with every server for which it is meant, of those that were asked for."""
    for name in faults or FAULTS:
        fault = FAULTS[name]
        yield from ((fault, each) for each in fault.servers if each in names or not names)


def quick_cells(faults: tuple[str, ...] = ()) -> Iterator[tuple[Fault, str]]:
    """Each fault on one server, so that every server has its share."""
    for place, (name, fault) in enumerate(FAULTS.items()):
        if name in faults or not faults:
            yield fault, fault.servers[place % len(fault.servers)]


def _show(result: Result, seconds: float) -> None:
    word = "FAILED" if result.problems else "ok"
    click.echo(f"{word:8}{result.fault.name} on {result.server}, {seconds:.1f} s")
    click.echo(f"{'':8}{result.observed}")
    for problem in result.problems:
        click.echo(f"{'':8}! {problem}")

"""`uniqfifo check`: compares an implementation with the specification, clause by clause."""

import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import click
import redis
from hypothesis.configuration import set_hypothesis_home_dir
from rich.console import Console
from rich.progress import Progress

from uniqfifo import NotExecuted
from uniqfifo.refusals import without_secrets
from uniqfifo_spec.conformance import check as checks
from uniqfifo_spec.conformance import shown
from uniqfifo_spec.conformance.bench import Bench, at_url, embedded, spawned
from uniqfifo_spec.conformance.expected import ExpectedFailures
from uniqfifo_spec.conformance.implementations import UNIQFIFO, port
from uniqfifo_spec.conformance.machine import PROFILES
from uniqfifo_spec.conformance.protocol import ProtocolError
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.spawn import CannotSpawn, default_binary
from uniqfifo_spec.designs import STORAGES

_FILE = click.Path(dir_okay=False, path_type=Path)


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
@click.option("--exec", "command", metavar="COMMAND", help="Check this port, driven over stdio.")
@click.option(
    "--storage",
    "storages",
    multiple=True,
    type=click.Choice(list(STORAGES)),
    help="Check this storage only; may be repeated.  [default: all]",
)
@click.option(
    "--profile",
    type=click.Choice(list(PROFILES)),
    default="quick",
    show_default=True,
    help="How long the random parts go on.",
)
@click.option(
    "--lose-answers",
    is_flag=True,
    help="Look through a proxy whether a request is ever sent twice, too.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.option("--report", "page", type=_FILE, help="Write it as HTML, or JUnit XML (*.xml), too.")
@click.option("--failures", "list_", type=_FILE, help="A list of failures that are known.")
@click.option("--fix", is_flag=True, help="Rewrite that list to what failed now.")
def check(
    url: str | None,
    binary: str | None,
    command: str | None,
    storages: tuple[str, ...],
    profile: str,
    lose_answers: bool,
    as_json: bool,
    page: Path | None,
    list_: Path | None,
    fix: bool,
) -> None:
    """Compare the queue with its specification, clause by clause.

    On the server at URL, under a fresh prefix that is removed in the end; without URL on an
    embedded server. Exits 0 if every clause holds, 1 if not, 2 if the check could not run, 3 if
    something was left undecided.
    """
    _refuse_nonsense(url, binary, command, list_, fix, page, lose_answers)
    try:
        known = ExpectedFailures.read(list_) if list_ and list_.exists() else ExpectedFailures()
        with _bench(url, binary) as bench, _progress(as_json) as progress, _warnings_once():
            implementation = port(command, bench) if command else UNIQFIFO
            chosen = _choose(storages, implementation)
            with _while_it_answers(bench), _hypothesis_elsewhere():
                reports = checks.check(
                    bench, implementation, chosen, profile, progress, lose_answers=lose_answers
                )
            title = f"{implementation.name} on {bench.name}"
    except ProtocolError as error:
        print(f"uniqfifo: the port does not conform: {error}", file=sys.stderr)
        sys.exit(1)
    except ModuleNotFoundError as missing:
        message = f"the embedded server needs {missing.name}: pip install 'uniqfifo[check]'"
        raise click.ClickException(message) from None
    except (CannotSpawn, redis.RedisError, NotExecuted, OSError, ValueError) as error:
        raise click.ClickException(f"the check could not run: {without_secrets(error)}") from None
    if as_json:
        click.echo(shown.as_json(title, profile, reports))
    else:
        shown.show(Console(highlight=False), title, reports)
    if page:
        shown.write(page, title, reports, known)
    sys.exit(_verdict(reports, known, list_, fix))


def _refuse_nonsense(
    url: str | None,
    binary: str | None,
    command: str | None,
    list_: Path | None,
    fix: bool,
    page: Path | None,
    lose_answers: bool,
) -> None:
    """An empty argument is a variable that was not set: it must not make another check pass."""
    if url == "" or command == "":
        raise click.UsageError("the URL, or the command of --exec, is empty")
    if url and binary is not None:
        raise click.UsageError("give a URL or --spawn, not both")
    if (command or lose_answers) and url is None and binary is None:
        raise click.UsageError("this needs a real server: give a URL or --spawn")
    if fix and not list_:
        raise click.UsageError("--fix rewrites the file of --failures: name it")
    if list_ and not fix and not list_.exists():
        raise click.UsageError(f"{list_} is not there; --fix writes it")
    if page and not page.parent.is_dir():
        raise click.UsageError(f"there is no folder {page.parent} for the report")


def _choose(storages: tuple[str, ...], implementation: Implementation) -> tuple[str, ...]:
    for storage in storages:
        if storage not in implementation.storages:
            raise ValueError(f"{implementation.name} does not offer {storage}")
    return storages or implementation.storages


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


@contextmanager
def _warnings_once() -> Iterator[None]:
    """A check calls start() a thousand times, on as many keys. A warning is said for the first."""
    said: set[str] = set()

    def is_new(record: logging.LogRecord) -> bool:
        known = record.msg in said
        said.add(record.msg)
        return not known

    log = logging.getLogger("uniqfifo")
    log.addFilter(is_new)
    try:
        yield
    finally:
        log.removeFilter(is_new)


@contextmanager
def _while_it_answers(bench: Bench) -> Iterator[None]:
    """Whatever goes wrong inside when the server has gone, goes wrong because of that."""
    try:
        yield
    except Exception:
        if bench.answers():
            raise
        message = "the check could not run: the server does not answer any more"
        raise click.ClickException(message) from None


@contextmanager
def _hypothesis_elsewhere() -> Iterator[None]:
    """What Hypothesis writes goes into a folder that goes with the check."""
    with TemporaryDirectory(prefix="uniqfifo-") as folder:
        set_hypothesis_home_dir(folder)
        try:
            yield
        finally:
            set_hypothesis_home_dir(None)


def _verdict(reports: list[Report], known: ExpectedFailures, list_: Path | None, fix: bool) -> int:
    """The exit code, known failures taken into account."""
    failed = shown.failures(reports)
    judged = {(report.storage, clause) for report in reports for clause in report.tallies}
    if fix and list_:
        known.write(list_, failed, judged)
        return 0
    for storage, clause in known.passing(failed, judged):
        print(f"uniqfifo: {storage} {clause} is listed as failing, and holds", file=sys.stderr)
    if known.unexpected(failed) or known.passing(failed, judged):
        return 1
    return 3 if any(report.verdict == "undecided" for report in reports) else 0

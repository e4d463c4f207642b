"""Checks an implementation on one server: every transition, then the machine."""

from collections.abc import Callable, Sequence

from uniqfifo_spec.conformance import machine, transitions
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def check(
    bench: Bench,
    implementation: Implementation,
    storages: Sequence[str],
    profile: str,
    progress: Progress = lambda what, done, total: None,
) -> list[Report]:
    """Check these storages and return a report on each.

    On a server that is ours the transitions run a second time with Redis's compact encodings
    switched off, since another piece of the server then does the work.
    """
    reports = [Report(storage) for storage in storages]
    for encodings in ("compact", "full") if bench.ours and bench.url else ("compact",):
        if encodings == "full":
            bench.switch_off_compact_encodings()
        for report in reports:
            what = f"{report.storage}: transitions"
            for done, total in transitions.run(bench, implementation, report.storage, report):
                progress(what, done, total)
    for report in reports:
        progress(f"{report.storage}: random sequences", 0, 0)
        machine.run(bench, implementation, report.storage, report, machine.PROFILES[profile])
    return reports

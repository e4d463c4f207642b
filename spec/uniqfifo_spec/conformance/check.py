"""Checks an implementation on one server, in several ways that miss different things."""

from collections.abc import Callable, Sequence

from uniqfifo_spec.conformance import concurrent, machine, resends, traces, transitions
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.vectors_check import run_vectors

Progress = Callable[[str, int, int], None]
"""Called with what is being done, how much of it is done, and how much there is."""


def check(
    bench: Bench,
    implementation: Implementation,
    storages: Sequence[str],
    profile: str,
    progress: Progress = lambda what, done, total: None,
    *,
    lose_answers: bool = False,
) -> list[Report]:
    """Check these storages and return a report on each.

    `lose_answers`: look through a proxy whether a request is sent twice, too.

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
        storage = report.storage
        if not report.conforms:
            continue  # what fails in one step needs no search for how it fails in many
        for done, total in run_vectors(bench, implementation, storage, report):
            progress(f"{storage}: vectors", done, total)
        if lose_answers:
            progress(f"{storage}: lost answers", 0, 0)
            resends.run(bench, implementation, storage, report)
        progress(f"{storage}: a trace", 0, 0)
        traces.run(bench, implementation, storage, report, profile)
        progress(f"{storage}: random sequences", 0, 0)
        machine.run(bench, implementation, storage, report, machine.PROFILES[profile])
        for done, total in concurrent.run(bench, implementation, storage, report, profile):
            progress(f"{storage}: several hosts at once", done, total)
    return reports

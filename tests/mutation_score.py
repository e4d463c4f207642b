"""How many wrong ports does the kit catch? `python -m tests.mutation_score` counts.

Every port is driven over stdio, in the quick profile, until one of the checks objects.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from unittest.mock import patch

from tests import wrong_hosts, wrong_port
from uniqfifo_spec.conformance import concurrent, machine, traces, transitions
from uniqfifo_spec.conformance.bench import Bench, spawned
from uniqfifo_spec.conformance.implementations import port
from uniqfifo_spec.conformance.protocol import ProtocolError
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation, Step
from uniqfifo_spec.conformance.spawn import default_binary
from uniqfifo_spec.conformance.vectors_check import run_vectors

PROFILE = "quick"

Steps = Sequence[Step]


def caught_by(bench: Bench, fault: str) -> str:
    """The clause, or the rule of the protocol, by which this port is caught; empty if it is not."""
    try:
        implementation = port(f"{sys.executable} -m tests.wrong_port '{fault}'", bench)
        with patch.object(transitions, "shortest", _as_they_are):
            return next(_objections(bench, implementation), "")
    except ProtocolError as error:
        return error.fault


def _objections(bench: Bench, implementation: Implementation) -> Iterator[str]:
    for storage in implementation.storages:
        report = Report(storage)
        for _ in transitions.run(bench, implementation, storage, report):
            yield from _failed(report)
        yield from _failed(report)
        for _ in run_vectors(bench, implementation, storage, report):
            yield from _failed(report)
        traces.run(bench, implementation, storage, report, PROFILE)
        yield from _failed(report)
        for _ in concurrent.run(bench, implementation, storage, report, PROFILE):
            yield from _failed(report)
        machine.run(bench, implementation, storage, report, machine.PROFILES[PROFILE])
        yield from _failed(report)


def _as_they_are(bench: Bench, of: Implementation, steps: Steps, clause: str, last: int) -> Steps:
    """Nobody reads the program here, so nobody looks for the shortest."""
    return steps


def _failed(report: Report) -> Iterator[str]:
    return (clause for clause, tally in report.tallies.items() if tally.failures)


def main() -> None:
    faults = [*wrong_hosts.HOSTS, *wrong_port.PROTOCOL]
    caught = 0
    with spawned(default_binary()) as bench:
        for fault in faults:
            by = caught_by(bench, fault)
            caught += bool(by)
            print(f"{fault:36} {by or 'NOT CAUGHT'}", flush=True)
    print(f"\n{caught} of {len(faults)} wrong ports caught: {100 * caught / len(faults):g} %")
    sys.exit(caught != len(faults))


if __name__ == "__main__":
    main()

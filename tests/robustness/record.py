"""The table of all runs: what was expected, what was observed, and the command that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from tests.robustness.catalogue import Fault
from tests.robustness.run import Result

HEAD = """\
# What faults do to the queue

Four client processes (from a URL and with the client library's own defaults, sync and asyncio) work
on one queue of each storage; in the middle a fault strikes; then every call is judged by the model.
Written by `python -m tests.robustness --record tests/robustness/RECORD.md`, which runs it all; each
row can be run alone.

*Unseen*: no call fails. *Explained*: there is one order of all calls in which every answer is the
model's, first in, first out. *Rolled back*: there is one if the server may, once and at the fault,
go back to an earlier value of the key (clause DUR-1). *Reordered*: an order explains everything but
first in, first out.

On the embedded server, whose clock can be set to anything, `tests/test_strict_order.py` shows the
order under every kind of clock.
"""


def command(fault: str, server: str) -> str:
    """What repeats a run."""
    return f"python -m tests.robustness --fault {fault} --server {server}"


def title(fault: Fault) -> str:
    return f"## {fault.name}\n\n{fault.about}. Expected: {fault.expected}."


def table(results: Sequence[Result]) -> str:
    """All results as Markdown."""
    parts = [HEAD]
    for fault, runs in groupby(results, key=lambda result: result.fault):
        rows = [
            f"| {run.server} | {'; '.join(run.problems) or 'as expected'} | {run.observed} "
            f"| `{command(fault.name, run.server)}` |"
            for run in runs
        ]
        parts.append(
            "\n".join(
                [
                    title(fault),
                    "",
                    "| server | | observed | command |",
                    "| --- | --- | --- | --- |",
                    *rows,
                    "",
                ]
            )
        )
    return "\n".join(parts)

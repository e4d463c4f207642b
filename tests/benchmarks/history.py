"""The judge beside PyPI's detangle, on the same histories in one run.

    pip install detangle && python tests/benchmarks/history.py

Histories of 400 calls by 10 clients, from a simulated queue. The bar: at least 1.5 times as fast.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from detangle.lin import INFO, OK, Model, Operation, check

from tests.histories import Workload, do, simulate
from uniqfifo_spec.history import History, Outcome, Verdict, judge

HISTORIES = 10
WORKLOADS = {
    "all known": Workload(calls=400, clients=10, ids=50),
    "few ids": Workload(calls=400, clients=10, ids=4),
    "1 % unknown": Workload(calls=400, clients=10, ids=50, unknown=0.01),
}


class UniqueQueue(Model):
    """The same model, as detangle wants it."""

    def __init__(self, history: History) -> None:
        self._initial = history.initial

    def init(self) -> Any:
        return self._initial

    def step(self, state: Any, op: Operation) -> tuple[bool, Any]:
        answer, state = do(op.f, op.arg, state)
        return op.status != OK or answer == op.output, state


def theirs(history: History) -> bool:
    operations = []
    for index, call in enumerate(sorted(history.calls, key=lambda call: call.call)):
        known = call.outcome is Outcome.ANSWERED
        operations.append(
            Operation(
                index,
                call.client,
                call.op,
                call.id,
                # Equal stamps overlap here, there a call at the stamp of a return is after it.
                2 * int(call.call),
                0.0,
                output=call.answer if known else None,
                status=OK if known else INFO,
                ret=2 * int(call.ret or 0) + 1 if known else None,
            )
        )
    return bool(check(operations, UniqueQueue(history)).ok)


def ours(history: History) -> bool:
    return judge(history, "fifo").verdict is Verdict.EXPLAINABLE


def seconds(checker: Callable[[History], bool], history: History) -> float | None:
    """The best of three; None if the checker gave up."""
    times = []
    for _ in range(3):
        began = time.perf_counter()
        try:
            assert checker(history)
        except RuntimeError:  # detangle's way of saying that its budget is spent
            return None
        times.append(time.perf_counter() - began)
    return min(times)


def main() -> None:
    for name, workload in WORKLOADS.items():
        histories = [simulate(seed, workload) for seed in range(HISTORIES)]
        pairs = [(seconds(ours, history), seconds(theirs, history)) for history in histories]
        both = [(one, other) for one, other in pairs if one and other]
        line = (
            f"{name:18} detangle gives up on {sum(not other for _, other in pairs)} of {len(pairs)}"
        )
        if both:
            one, other = (1000 * sum(times) / len(both) for times in zip(*both, strict=True))
            line += f"; else ours {one:.1f} ms, detangle {other:.1f} ms: {other / one:.2f} x"
        print(line, flush=True)


if __name__ == "__main__":
    main()

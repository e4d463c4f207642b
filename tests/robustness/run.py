"""One run: traffic on real servers, a fault in the middle of it, and the verdict."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tests.robustness import wrong
from tests.robustness.catalogue import Fault
from tests.robustness.log import ANSWERED, NOT_EXECUTED, UNKNOWN, UNTYPED, Entry
from tests.robustness.queues import FIRST, QUEUES
from tests.robustness.stage import Stage, staged
from tests.robustness.traffic import NO_CALL_LASTS, Hung, Traffic
from tests.robustness.verdict import Kind, kinds
from tests.robustness.worker import Plan
from uniqfifo_spec.fifo import Pending
from uniqfifo_spec.history import History

SERVED_WITHIN = 20.0  # seconds after the fault is over
OPTIONS = {"socket_timeout": 1.0, "socket_connect_timeout": 1.0}


@dataclass(frozen=True)
class Result:
    """What was observed.

    - `calls`: how many there were; `answered` of them, `refused` for each reason, and `unknown`
    - `slowest`: the seconds that the longest call took
    - `verdicts`: of each queue
    - `problems`: all that must not be; none is a pass
    """

    fault: Fault
    server: str
    calls: int
    answered: int
    refused: Counter[str]
    unknown: int
    slowest: float
    verdicts: dict[str, set[Kind]]
    problems: list[str]

    @property
    def observed(self) -> str:
        """The same in words."""
        reasons = ", ".join(f"{reason} {count:,}" for reason, count in sorted(self.refused.items()))
        failures = [f"not executed: {reasons}"] if reasons else []
        failures += [f"outcome unknown: {self.unknown:,}"] if self.unknown else []
        said = Counter(kind.value for each in self.verdicts.values() for kind in each)
        words = [
            kind if count == len(QUEUES) else f"{count} {kind}" for kind, count in said.items()
        ]
        return (
            f"{self.calls:,} calls; {'; '.join(failures) or 'none failed'}; {', '.join(words)}; "
            f"slowest {self.slowest:.1f} s"
        )


def run(
    fault: Fault, server: str, seconds: float, seed: int, implementation: str = "ours"
) -> Result:
    """Put up the servers, let clients work on them for so long, strike in the middle, and judge."""
    with staged(server, fault.args) as stage:
        fault.setting(stage)
        stage.fill()
        return _run(fault, server, seconds, stage, _plans(fault, stage, seed, implementation))


def _plans(fault: Fault, stage: Stage, seed: int, implementation: str) -> list[Plan]:
    workers = [{"kind": kind, **fault.plan} for kind in fault.kinds]
    workers += [{"late": True, **plan} for plan in fault.late]
    common = {
        "target": {"options": {**OPTIONS, **fault.options}, **stage.target},
        "queues": QUEUES,
        "seed": seed,
    }
    if implementation != "ours":  # sync, and with the library's own defaults
        own = {"kind": "plain", "implementation": implementation, **wrong.PLANS[implementation]}
        workers = [{**worker, **own} for worker in workers]
    return [
        Plan(**{"name": f"{number}-{worker['kind']}", **common, **worker})
        for number, worker in enumerate(workers)
    ]


def _run(fault: Fault, server: str, seconds: float, stage: Stage, plans: Sequence[Plan]) -> Result:
    problems: list[str] = []
    with Traffic(plans, stage.folder) as traffic:
        stage.traffic = traffic
        traffic.await_ready()
        traffic.go("calls")
        if fault.served:
            traffic.await_served(0, SERVED_WITHIN)
        time.sleep(seconds / 3)
        fault.strike(stage)
        over = time.monotonic_ns()
        time.sleep(seconds / 3)
        if fault.served and (missing := traffic.await_served(over, SERVED_WITHIN)):
            problems.append(f"not served any more: {', '.join(sorted(missing))}")
        try:
            traffic.pause()
        except Hung as hung:
            problems.append(f"hangs in a call: {hung}")
        entries = traffic.entries()
        if errors := traffic.errors():
            problems.append(f"a client process failed: {errors.strip().splitlines()[-1]}")
    first = tuple(id.encode() for id in FIRST)
    verdicts = {
        queue: kinds(history_of(queue, entries, first, stage.pending(queue), stage.fault))
        for queue in QUEUES
    }
    return _result(fault, server, entries, verdicts, problems)


def history_of(
    queue: str,
    entries: Sequence[Entry],
    initial: Pending,
    final: Pending,
    fault: tuple[int, int] | None = None,
) -> History:
    """What the judge is given: the calls on one queue, and what was pending before and after."""
    calls = (entry for entry in entries if entry.queue == queue and entry.operation != "start")
    return History(tuple(entry.as_call() for entry in calls), initial, final, fault)


def _result(
    fault: Fault,
    server: str,
    entries: Sequence[Entry],
    verdicts: dict[str, set[Kind]],
    problems: list[str],
) -> Result:
    outcomes = Counter(entry.outcome for entry in entries)
    lasted = [(entry.ended or entry.began) - entry.began for entry in entries]
    result = Result(
        fault,
        server,
        len(entries),
        outcomes[ANSWERED],
        Counter(entry.why for entry in entries if entry.outcome == NOT_EXECUTED),
        outcomes[UNKNOWN],
        max(lasted, default=0) / 1e9,
        verdicts,
        problems,
    )
    problems += _unforeseen(result, entries)
    return result


def _unforeseen(result: Result, entries: Sequence[Entry]) -> Iterator[str]:
    """What was observed and must not be."""
    fault = result.fault
    for queue, said in result.verdicts.items():
        if not said <= fault.verdicts(queue):
            yield f"{queue}: {', '.join(sorted(said))}"
    texts = {(entry.outcome, entry.why): entry.answer or entry.why for entry in entries}
    for (outcome, why), text in texts.items():
        if outcome == NOT_EXECUTED and why not in fault.refused:
            yield f"refused, unforeseen: {text}"
        elif outcome == UNTYPED:
            yield f"an error that is not typed: {why.strip().splitlines()[-1]}"
        elif outcome == UNKNOWN and not fault.unknown:
            yield f"outcome unknown, unforeseen: {why}"
    if fault.seen and not (result.refused or result.unknown):
        yield "no call failed: the fault was not felt"
    if result.slowest > NO_CALL_LASTS:
        yield f"a call took {result.slowest:.0f} s"
    if not result.answered:
        yield "no call was answered"

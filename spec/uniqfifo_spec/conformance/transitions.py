"""The exhaustive check: from every key value in scope, does every call do what the model does?

Each call is one atomic step. So agreement on every transition is agreement on every sequence of
calls in scope, provided that the implementation keeps no state between calls; the machine looks
into that.
"""

import time
from collections.abc import Iterator

from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.oracle import Judged, Operation
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.reproduce import program, shortest
from uniqfifo_spec.conformance.scope import CLOCK, IDS, cases
from uniqfifo_spec.conformance.session import (
    CLOCK_READINGS,
    Call,
    Implementation,
    Put,
    Session,
    SetClock,
)
from uniqfifo_spec.conformance.targets import QUEUES

_YOUNG = 50_000  # microseconds


def run(
    bench: Bench, implementation: Implementation, storage: str, report: Report
) -> Iterator[tuple[int, int]]:
    """Run every transition of one storage and add to `report`.

    Yields (how many are done, of how many) before each.
    """
    everything = list(cases(storage, at_clock=bench.clock is not None))
    with Session(bench, implementation) as session:
        session.do(SetClock(CLOCK))
        for operation in (Operation("enqueue", QUEUES[0], IDS[0]), Operation("dequeue", QUEUES[0])):
            for failed in report.add(session.do(Call(storage, operation))):  # it is not started yet
                report.reproduce(failed, program(bench, implementation, session.steps, failed))
        report.add(session.do(Call(storage, Operation("start"))))
        if storage != "list" and not bench.clock:
            wait_for_a_young_second(bench)
        for done, case in enumerate(everything):
            yield done, len(everything)
            judged = [each for step in case for each in session.do(step)]
            for failed in report.add(judged):
                few = shortest(bench, implementation, session.steps, failed.clause, len(case))
                report.reproduce(failed, program(bench, implementation, few, failed))
            report.transitions += 1
        report.add(_nothing_beside(session))
        if storage != "list" and bench.ours and bench.url:
            report.add([_asks_the_server(bench, session, storage)])


def wait_for_a_young_second(bench: Bench) -> None:
    """Let TIME's microseconds have leading zeros, so that gluing them on unpadded shows."""
    age = bench.now() % 1_000_000
    if age > _YOUNG:
        time.sleep((1_000_000 - age) / 1e6)


def _nothing_beside(session: Session) -> list[Judged]:
    beside = session.foreign_keys()
    return [Judged("KEY-2", f"other keys appeared: {beside!r}" if beside else "")]


def _asks_the_server(bench: Bench, session: Session, storage: str) -> Judged:
    """On one machine a client's clock looks like the server's: so count who asks for TIME."""
    session.do(Put("workflow", None))
    before = bench.time_calls()
    session.do(Call(storage, Operation("enqueue", "workflow", b"a")))
    asked = bench.time_calls() - before - CLOCK_READINGS
    return Judged("ZST-2", "" if asked > 0 else "the score does not come from the server's TIME")

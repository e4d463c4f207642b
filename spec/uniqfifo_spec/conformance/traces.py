"""A long sequence that a port runs by itself, in one request: what it answers is the model's?

Faster than call by call, by far; but the judge looks at the keys only when all is done.
"""

from collections.abc import Iterator
from random import Random

from uniqfifo_spec import fifo
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.oracle import Judged, Operation, wrong_answer
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.scope import HOSTILE, IDS
from uniqfifo_spec.conformance.session import KEY_ENDINGS, Implementation
from uniqfifo_spec.conformance.stdio import StdioTarget
from uniqfifo_spec.conformance.targets import QUEUES, Answer
from uniqfifo_spec.keyspace import pending

STEPS = {"quick": 2_000, "ci": 10_000, "nightly": 200_000}
WITHIN = 120.0  # seconds for one trace


def run(
    bench: Bench, implementation: Implementation, storage: str, report: Report, profile: str
) -> None:
    """Have a port run one trace, and add to `report`. Other implementations have none."""
    with bench.prefix() as prefix:
        host = implementation.open(bench, prefix, storage)
        try:
            if isinstance(host, StdioTarget):
                host.start()
                operations = random_calls(implementation, STEPS[profile])
                answers = host.trace(operations, WITHIN)
                keys = (f"{prefix}-{KEY_ENDINGS[queue]}" for queue in QUEUES)
                left = [pending(seen.value) for seen in bench.seen(*keys)]
                report.add(judged(operations, answers, dict(zip(QUEUES, left, strict=True))))
                report.steps += len(operations)
        finally:
            host.stop()


def random_calls(implementation: Implementation, count: int) -> list[Operation]:
    """The same random calls every time, on all three queues."""
    random = Random(count)
    ids = [id for id in (*IDS, *HOSTILE) if implementation.takes(id)]
    calls = [
        Operation("enqueue", random.choice(QUEUES), random.choice(ids))
        if random.random() < 0.6
        else Operation("dequeue", random.choice(QUEUES))
        for _ in range(count)
    ]
    return calls


def judged(
    operations: list[Operation], answers: list[Answer], left: dict[str, fifo.Pending]
) -> Iterator[Judged]:
    queues: dict[str, fifo.Pending] = dict.fromkeys(QUEUES, ())
    for number, (operation, answer) in enumerate(zip(operations, answers, strict=True)):
        queue = operation.queue
        assert queue is not None
        expected: Answer
        if operation.id is None:
            expected, queues[queue] = fifo.dequeue(queues[queue])
            clause = "DEQ-2" if expected is None else "DEQ-1"
        else:
            expected, queues[queue] = fifo.enqueue(queues[queue], operation.id)
            clause = "ENQ-1" if expected else "ENQ-2"
        wrong = wrong_answer(expected, answer)
        yield Judged(clause, wrong and f"step {number} of a trace, {operation}: {wrong}")
        if wrong:
            return  # what follows is judged by a state that the port does not share
    wrong = "" if left == queues else f"after a trace {left!r} is pending, expected {queues!r}"
    yield Judged("QUE-1", wrong)

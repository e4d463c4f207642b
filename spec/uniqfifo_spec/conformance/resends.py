"""Does an implementation ever send a request twice? A proxy loses an answer, and the judge counts.

What a judge in front of Redis cannot see otherwise: a client layer that sends again what had no
answer in time (DEL-2) eats ids that nobody was given.
"""

from collections.abc import Iterator
from copy import copy
from typing import get_args

from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.oracle import Judged
from uniqfifo_spec.conformance.proxy import How, swallowing
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.targets import Failed
from uniqfifo_spec.keyspace import List, Value, ZSet, pending

_IDS = (b"a", b"b", b"c")


def run(bench: Bench, implementation: Implementation, storage: str, report: Report) -> None:
    """Lose the answer to one dequeue in each way, and add to `report`.

    Needs a server that is reached at a redis:// URL; raises ValueError otherwise.
    """
    for how in get_args(How):
        report.add(_lose_one_answer(bench, implementation, storage, how))


def _lose_one_answer(
    bench: Bench, implementation: Implementation, storage: str, how: How
) -> Iterator[Judged]:
    with swallowing(bench.url or "", how) as proxy, bench.prefix() as prefix:
        behind = copy(bench)
        behind.url = proxy.url
        host = implementation.open(behind, prefix, storage)
        try:
            host.start()
            key = f"{prefix}-workflows"
            bench.put(key, _holding(storage))
            proxy.swallow()
            answer = host.dequeue("workflow")
            (seen,) = bench.seen(key)
            left = pending(seen.value)
            gone = len(_IDS) - len(left)
            yield Judged("DEL-2", f"one dequeue took {gone} ids" if gone > 1 else "")
            told = isinstance(answer, Failed) and answer.kind == "outcome-unknown"
            yield Judged("ERR-3", "" if told else f"the answer was lost, and the call: {answer!r}")
            following = host.dequeue("workflow")
            crossed = left and following != left[0]
            yield Judged(
                "ERR-4", f"the next call answers {following!r}, not {left[0]!r}" if crossed else ""
            )
        finally:
            host.stop()


def _holding(storage: str) -> Value:
    return List(_IDS) if storage == "list" else ZSet(tuple(enumerate(_IDS, start=1)))

"""Several hosts at once on one queue: is there an order of their calls that explains it?

This catches an implementation whose calls are not one step each. By chance: a race has to happen.
So a few hosts quarrel over two ids, again and again.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from random import Random

from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.oracle import Judged
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.targets import Failed, Target
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.history import Call, History, Model, Outcome, Verdict, judge, judge_both
from uniqfifo_spec.history.calls import Operation
from uniqfifo_spec.keyspace import List, Value, ZSet, pending

HOSTS = 4
CALLS = 10  # of each host in a round
ROUNDS = {"quick": 60, "ci": 200, "nightly": 2000}
IDS: tuple[Id, ...] = (b"a", b"b")

# `zset` promises order only while the clock strictly increases, and nobody sees that it does.
_ORDERED = ("list", "zset-strict")
_CLAUSES: dict[Model, str] = {"bag": "CON-1", "fifo": "CON-2"}


def run(
    bench: Bench, implementation: Implementation, storage: str, report: Report, profile: str
) -> Iterator[tuple[int, int]]:
    """Run the rounds of one storage and add to `report`.

    Yields (how many rounds are done, of how many) before each.
    """
    rounds = ROUNDS[profile]
    with bench.prefix() as prefix, ExitStack() as cleanup:
        hosts = []
        for _ in range(HOSTS):
            host = implementation.open(bench, prefix, storage)
            cleanup.callback(host.stop)
            host.start()
            hosts.append(host)
        for number in range(rounds):
            yield number, rounds
            history = _round(bench, f"{prefix}-workflows", hosts, storage, Random(number))
            for failed in report.add(_judged(history, storage)):
                report.reproduce(failed, _as_comment(history))


def _round(bench: Bench, key: str, hosts: list[Target], storage: str, random: Random) -> History:
    """Let every host make its calls at the same time, and write down what happened."""
    initial = tuple(random.sample(IDS, random.randint(0, len(IDS))))
    bench.put(key, _holding(storage, initial))
    plans = [[random.choice((*IDS, None)) for _ in range(CALLS)] for _ in hosts]
    calls: list[Call] = []
    ready = threading.Barrier(len(hosts))
    errors: list[BaseException] = []

    def work(name: str, host: Target, plan: list[Id | None]) -> None:
        try:
            ready.wait()
            calls.extend([_call(name, host, id) for id in plan])
        except BaseException as error:
            errors.append(error)

    threads = [
        threading.Thread(target=work, args=(f"host {number}", host, plan))
        for number, (host, plan) in enumerate(zip(hosts, plans, strict=True))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    (seen,) = bench.seen(key)
    return History(tuple(calls), initial, pending(seen.value))


def _call(name: str, host: Target, id: Id | None) -> Call:
    began = time.monotonic_ns()
    answer = host.dequeue("workflow") if id is None else host.enqueue("workflow", id)
    ended = time.monotonic_ns()
    op: Operation = "dequeue" if id is None else "enqueue"
    if isinstance(answer, Failed):
        effect = answer.kind in ("outcome-unknown", "other")
        outcome = Outcome.UNKNOWN if effect else Outcome.NOT_EXECUTED
        return Call(name, op, id, began, ended, outcome=outcome)
    return Call(name, op, id, began, ended, answer)


def _judged(history: History, storage: str) -> Iterator[Judged]:
    both = storage in _ORDERED
    for judgement in judge_both(history) if both else (judge(history, "bag"),):
        clause = _CLAUSES[judgement.model]
        if judgement.verdict is Verdict.UNEXPLAINABLE:
            yield Judged(clause, f"no order of these calls explains them on a {judgement.model}")
        else:
            yield Judged(clause, undecided=judgement.verdict is Verdict.UNDECIDED)


def _holding(storage: str, ids: tuple[Id, ...]) -> Value:
    if not ids:
        return None
    return List(ids) if storage == "list" else ZSet(tuple(enumerate(ids, start=1)))


def _as_comment(history: History) -> str:
    calls = sorted(history.calls, key=lambda call: call.call)
    start = calls[0].call
    return "\n".join(
        [
            f"# pending before: {history.initial!r}, after: {history.final!r}",
            "# from    to  (µs)",
            *(
                f"# {(call.call - start) // 1000:5} {((call.ret or 0) - start) // 1000:5}  "
                f"{call.client}: {call.op} {call.id or ''!r} -> {call.answer!r}"
                for call in calls
            ),
        ]
    )

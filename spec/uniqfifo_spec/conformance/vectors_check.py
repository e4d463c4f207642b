"""Runs the shipped test vectors against an implementation, as a port does that checks itself.

The model has no say in this: what is expected stands in the vectors.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import Self

from uniqfifo_spec.conformance.bench import Bench, Seen
from uniqfifo_spec.conformance.oracle import Judged, Operation, wrong_answer
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.reproduce import program
from uniqfifo_spec.conformance.session import (
    KEY_ENDINGS,
    Call,
    Implementation,
    Put,
    SetClock,
    Step,
    invoke,
)
from uniqfifo_spec.conformance.targets import Answer, Failed
from uniqfifo_spec.conformance.transitions import wait_for_a_young_second
from uniqfifo_spec.keyspace import Score, Value, ZSet
from uniqfifo_spec.vectors import CLOCK, QUEUES, Refused, Timed, Vector, key_problems, load
from uniqfifo_spec.vectors import Step as VectorStep

_SHOWN = 400  # characters of a problem


def run_vectors(
    bench: Bench, implementation: Implementation, storage: str, report: Report
) -> Iterator[tuple[int, int]]:
    """Run every vector of one storage and add to `report`.

    Yields (how many are done, of how many) before each.
    """
    vectors = load(storage)
    if storage != "list" and not bench.clock:
        wait_for_a_young_second(bench)
    with _Host(bench, implementation, storage) as host:
        for done, vector in enumerate(vectors):
            yield done, len(vectors)
            for failed in report.add(host.run(vector)):
                _reproduce(bench, implementation, storage, vector, failed, report)
        beside = host.foreign_keys()
        report.add([Judged("KEY-2", f"other keys appeared: {beside!r}" if beside else "")])
        if storage != "list":
            report.add([_exact(host.scores)])


def _exact(scores: Collection[Score]) -> Judged:
    """A score that lost its last digits can still lie between the readings round it; not all can
    end in 00, though.
    """
    rounded = bool(scores) and all(score % 100 == 0 for score in scores)
    return Judged("ZST-2", "every score ends in 00: digits are lost" if rounded else "")


class _Host:
    """A host on a fresh prefix, which runs one vector after the other. A context manager."""

    def __init__(self, bench: Bench, implementation: Implementation, storage: str) -> None:
        self._bench = bench
        self._timed = storage != "list"
        self._cleanup = ExitStack()
        prefix = self._cleanup.enter_context(bench.prefix())
        self._prefix = prefix
        self._keys = [f"{prefix}-{KEY_ENDINGS[queue]}" for queue in QUEUES]
        self._target = implementation.open(bench, prefix, storage)
        self._cleanup.callback(self._target.stop)
        self._started = False
        self.scores: list[Score] = []  # that the clock should have given

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self._cleanup.close()

    def run(self, vector: Vector) -> list[Judged]:
        """Set the keys, take the steps, and look at the keys."""
        if not self._started:
            self._put({})  # what start() makes of a key is the business of the vectors
            self._start()
        self._put(vector.given, vector.ttl)
        problems: list[str] = []
        readings: list[tuple[int, int]] = []
        for number, (step, expected) in enumerate(zip(vector.steps, vector.answers, strict=True)):
            answer, reading = self._call(step, CLOCK + number)
            readings.append(reading)
            if isinstance(expected, Refused):
                wrong = wrong_answer(Failed(expected.kind), answer)
            else:
                wrong = wrong_answer(expected, answer)
            problems += [f"step {number}: {wrong}"] if wrong else []
        seen = dict(zip(QUEUES, self._bench.seen(*self._keys), strict=True))
        problems += key_problems(vector, {queue: seen[queue].value for queue in QUEUES}, readings)
        self._note_scores(vector, seen)
        lasting = [f"{queue} has a time to live" for queue in QUEUES if seen[queue].has_ttl]
        return [
            _judged(vector, vector.clause, problems),
            _judged(vector, "MIG-4" if vector.ttl else "KEY-3", lasting),
        ]

    def foreign_keys(self) -> list[bytes]:
        """Keys under the prefix that are none of the three."""
        own = {key.encode() for key in self._keys}
        return [key for key in self._bench.keys(self._prefix) if key not in own]

    def _note_scores(self, vector: Vector, seen: Mapping[str, Seen]) -> None:
        for queue, expected in vector.expected.items():
            found = seen[queue].value
            if isinstance(expected, Timed) and isinstance(found, ZSet):
                timed = {id for score, id in expected.entries if score is None}
                self.scores += [score for score, id in found.entries if id in timed]

    def _put(self, keys: Mapping[str, Value], ttl: int | None = None) -> None:
        for queue, key in zip(QUEUES, self._keys, strict=True):
            self._bench.put(key, keys.get(queue), ttl if queue in keys else None)

    def _start(self) -> Answer:
        answer = self._target.start()
        self._started = not isinstance(answer, Failed)
        return answer

    def _call(self, step: VectorStep, now: int) -> tuple[Answer, tuple[int, int]]:
        """Call the host. Also: what the server's clock read before and after, where it matters."""
        if self._bench.clock:
            self._bench.clock(now)
        if step.name == "start":
            return self._start(), (0, 0)
        operation = Operation(*step)
        if not self._timed or step.name == "dequeue":
            return invoke(self._target, operation), (0, 0)
        earliest = self._bench.now()
        answer = invoke(self._target, operation)
        return answer, (earliest, self._bench.now())


def _judged(vector: Vector, clause: str, problems: Sequence[str]) -> Judged:
    if not problems:
        return Judged(clause)
    text = problems[0] if len(problems[0]) <= _SHOWN else f"{problems[0][:_SHOWN]}..."
    return Judged(clause, f"vector {vector.name}, {text}")


def _reproduce(
    bench: Bench,
    implementation: Implementation,
    storage: str,
    vector: Vector,
    failed: Judged,
    report: Report,
) -> None:
    """Note a program that shows the failure, if the vector fails by itself."""
    with _Host(bench, implementation, storage) as host:
        if not any(each.problem for each in host.run(vector)):
            return  # what went before has to do with it: the vector's name must be enough
    steps: list[Step] = [Call(storage, Operation("start"))]
    steps += [Put(queue, value, vector.ttl) for queue, value in vector.given.items()]
    for number, step in enumerate(vector.steps):
        steps += [SetClock(CLOCK + number)] if bench.clock else []
        steps.append(Call(storage, Operation(*step)))
    report.reproduce(failed, program(bench, implementation, steps, failed))

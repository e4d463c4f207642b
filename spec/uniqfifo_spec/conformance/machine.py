"""Long random sequences of calls against the model: the Hypothesis state machine.

Every call is judged by the same oracle as the transitions: its answer, and whole keys before and
after. To check another implementation in a test suite of its own, subclass `QueueMachine` and set
`bench` and `implementation`. Rules decide by what was seen before, never by asking the server, so
that a failure replays.
"""

from typing import ClassVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    precondition,
    rule,
    run_state_machine_as_test,
)

from uniqfifo_spec.commands import RPush, ZAddNX
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.implementations import UNIQFIFO
from uniqfifo_spec.conformance.oracle import Judged, Operation
from uniqfifo_spec.conformance.protocol import ProtocolError
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.reproduce import fewer, program
from uniqfifo_spec.conformance.scope import CLOCK, HOSTILE, IDS, SCORES
from uniqfifo_spec.conformance.session import Call, Implementation, Put, Session, SetClock, Step
from uniqfifo_spec.conformance.targets import QUEUES
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import List, Other, Score, ZSet, pending

# Few ids and few queues, so that calls meet; now and then an id that is hard to carry.
queues = st.sampled_from((QUEUES[0], *QUEUES))
ids = st.one_of(st.sampled_from(IDS), st.sampled_from(IDS[:2]), st.sampled_from(HOSTILE))
scores = st.sampled_from((*SCORES, CLOCK))
storages = st.sampled_from(("list", "zset", "zset-strict"))
ticks = st.sampled_from((0, 1, 93, 100_000, 1_000_000, 3_600_000_000, -1, -93, -3_600_000_000))
enqueues = st.builds(Operation, st.just("enqueue"), queues, ids)
dequeues = st.builds(Operation, st.just("dequeue"), queues)
traffic = st.lists(st.one_of(enqueues, dequeues), min_size=1, max_size=8)


class Violation(AssertionError):
    """A clause did not hold."""

    def __init__(self, judged: Judged) -> None:
        super().__init__(f"{judged.clause}: {judged.problem}")
        self.judged = judged


class _Abandoned(BaseException):
    """The port broke the protocol. Hypothesis lets this through at once, where it would go on to
    look for the shortest way there, waiting for a port that hangs again and again.
    """


class QueueMachine(RuleBasedStateMachine):
    """A host of `storage`, with others, legacy hosts and foreign writers on the same three keys."""

    bench: ClassVar[Bench]
    implementation: ClassVar[Implementation] = UNIQFIFO
    storage: ClassVar[str] = "zset"
    failure: ClassVar[tuple[list[Step], Judged] | None] = None

    def __init__(self) -> None:
        super().__init__()
        self.session = Session(self.bench, self.implementation)
        self.now = CLOCK
        self.take(SetClock(self.now))
        self.start()

    def take(self, step: Step) -> None:
        try:
            judged = self.session.do(step)
        except ProtocolError as error:
            raise _Abandoned from error
        if isinstance(step, Call):
            self.judged(step.storage, judged)
        for each in judged:
            if each.problem:
                type(self).failure = (self.session.steps, each)
                raise Violation(each)

    def judged(self, host: str, judged: list[Judged]) -> None:
        """Is told what was found of each call, and the storage of the host that was called."""

    def calls(self, operations: list[Operation], storage: str | None = None) -> None:
        for operation in operations:
            self.take(Call(storage or self.storage, operation))

    def start(self) -> None:
        self.calls([Operation("start")])

    # Each rule is something that happens, and the traffic after it. (Traffic as rules of its own
    # would be switched off in half of the sequences, since Hypothesis leaves out rules at random.)

    @rule(calls=traffic)
    def nothing(self, calls: list[Operation]) -> None:
        self.calls(calls)

    @rule(storage=storages, visits=traffic, calls=traffic)
    def host_of_another_storage(
        self, storage: str, visits: list[Operation], calls: list[Operation]
    ) -> None:
        """It starts, which may migrate the keys, and is called; then ours is called again."""
        if storage in self.implementation.storages:
            self.calls([Operation("start"), *visits], storage)
        self.calls(calls)
        if self.storage == "list":
            self.move_back()

    def move_back(self) -> None:
        """ZSETs become LISTs again, and a legacy host repeats the head at the tail."""
        for queue, value in self.session.keys.items():
            if isinstance(value, ZSet):
                ids = pending(value)
                self.take(Put(queue, List((*ids, ids[0]))))

    @rule(calls=traffic, after=traffic)
    def operator_moves_back(self, calls: list[Operation], after: list[Operation]) -> None:
        """Hosts notice, and the next start() sees to it."""
        self.move_back()
        self.calls(calls)
        self.start()
        self.calls(after)

    @rule(calls=traffic)
    def start_again(self, calls: list[Operation]) -> None:
        self.start()
        self.calls(calls)

    @rule(calls=traffic)
    def stop_and_start(self, calls: list[Operation]) -> None:
        self.calls([Operation("stop"), Operation("stop"), *calls[:2]])
        self.start()
        self.calls(calls[2:])

    @rule(tick=ticks, calls=traffic)
    def clock_moves(self, tick: int, calls: list[Operation]) -> None:
        self.now += tick
        self.take(SetClock(self.now))
        self.calls(calls)

    @rule(queue=queues, appended=st.lists(ids, min_size=1, max_size=4), calls=traffic)
    def legacy_host_appends(self, queue: str, appended: list[Id], calls: list[Operation]) -> None:
        """What is left of legacy enqueues that raced with others: further copies at the tail."""
        for id in appended:
            if isinstance(self.session.keys[queue], List | None):
                self.session.write(queue, RPush(id))
        self.calls(calls)

    @rule(queue=queues, id=ids, score=scores, calls=traffic)
    def foreign_writer_adds(self, queue: str, id: Id, score: Score, calls: list[Operation]) -> None:
        if isinstance(self.session.keys[queue], ZSet | None):
            self.session.write(queue, ZAddNX(score, id))
        self.calls(calls)

    @rule(queue=queues, kind=st.sampled_from(("string", "hash", "set")), calls=traffic)
    def foreign_writer_overwrites(self, queue: str, kind: str, calls: list[Operation]) -> None:
        self.take(Put(queue, Other(kind)))
        self.calls(calls)
        self.start()
        self.take(Put(queue, None))
        self.start()

    @rule(queue=queues, calls=traffic)
    def operator_deletes(self, queue: str, calls: list[Operation]) -> None:
        self.take(Put(queue, None))
        self.calls(calls)

    @precondition(lambda self: self.bench.ours)
    @rule(calls=traffic)
    def scripts_are_flushed(self, calls: list[Operation]) -> None:
        self.bench.judge.script_flush()
        self.calls(calls)

    def teardown(self) -> None:
        beside = self.session.foreign_keys()
        self.session.__exit__()
        if beside:
            raise Violation(Judged("KEY-2", f"other keys appeared: {beside!r}"))


_COMMON = settings(
    deadline=None,
    database=None,
    derandomize=True,
    phases=(Phase.generate, Phase.shrink),
    suppress_health_check=list(HealthCheck),
)

PROFILES = {
    "quick": settings(_COMMON, max_examples=40, stateful_step_count=10),
    "ci": settings(_COMMON, max_examples=100, stateful_step_count=20),
    "nightly": settings(_COMMON, max_examples=5000, stateful_step_count=50, derandomize=False),
}
"""How long to look. All but nightly take the same sequences in every run."""


_FEWER, _LONGER = 20, 10  # times, where a sequence begins with starting a process


def run(
    bench: Bench, implementation: Implementation, storage: str, report: Report, profile: settings
) -> None:
    """Run the machine with this storage and add to `report`."""

    class Machine(QueueMachine):
        def judged(self, host: str, judged: list[Judged]) -> None:
            report.steps += 1
            # Hosts of other storages come by; what is right with them is not this one's merit.
            report.add(each for each in judged if host == storage or each.problem)

    if implementation.is_a_process:
        profile = settings(
            profile,
            max_examples=max(1, profile.max_examples // _FEWER),
            stateful_step_count=profile.stateful_step_count * _LONGER,
            phases=[Phase.generate],
        )
    Machine.bench, Machine.implementation, Machine.storage = bench, implementation, storage
    try:
        run_state_machine_as_test(Machine, settings=profile)
    except _Abandoned as abandoned:
        assert abandoned.__cause__
        raise abandoned.__cause__ from None
    except Violation:
        assert Machine.failure is not None
        steps, judged = Machine.failure  # of the last sequence that failed: the shortest
        if implementation.is_a_process:
            steps = fewer(bench, implementation, steps, judged.clause)
        report.reproduce(judged, program(bench, implementation, steps, judged))

"""Histories to judge: simulated ones, mutated ones, and the judge's own judge, brute force.

`simulate` runs clients against the model under a random scheduler. Every call takes effect at one
instant between its stamps, so what comes out can always be explained.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from uniqfifo_spec import fifo
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history import UNTOLD, Call, History, Model, Outcome
from uniqfifo_spec.history.calls import Answer, Operation


@dataclass(frozen=True)
class Workload:
    """How clients behave; `enqueue` to `untold` are probabilities."""

    calls: int = 40
    clients: int = 4
    ids: int = 5
    enqueue: float = 0.5
    remove: float = 0.0
    unknown: float = 0.0
    untold: float = 0.0
    model: Model = "fifo"
    coarse: int = 1  # stamps are rounded down to multiples of this
    rollback: float | None = None  # when so much of the calls has begun
    lost: int = 10  # the rollback undoes at most so many effects
    look: bool = False  # at what is pending at the end


@dataclass
class Running:
    """A call that has begun. An unknown outcome may come at any time, or never."""

    client: int
    op: Operation
    id: Id | None
    call: int
    unknown: bool
    never: bool
    ended: bool = False
    answer: Answer = UNTOLD


class Simulation:
    """One queue, its clients, and the clock, which ticks with every event."""

    def __init__(self, workload: Workload, rng: random.Random) -> None:
        self.workload = workload
        self.rng = rng
        self.initial = tuple(b"id%d" % n for n in range(rng.choice([0, workload.ids // 2])))
        self.values = [self.initial]
        self.clock = 0
        self.calls: list[Call] = []
        self.fault: tuple[int, int] | None = None

    def run(self) -> History:
        workload, rng = self.workload, self.rng
        clients: dict[int, Running] = {}
        late: list[Running] = []
        begun = 0
        while begun < workload.calls or clients:
            self.clock += 1
            if workload.rollback and not self.fault and begun >= workload.rollback * workload.calls:
                self._roll_back()
            if late and rng.random() < 0.02:
                self._take_effect(late.pop(rng.randrange(len(late))))
            client = rng.randrange(workload.clients)
            call = clients.get(client)
            if call is None:
                if begun < workload.calls:
                    clients[client] = self._begin(client)
                    begun += 1
            elif not call.ended and not call.never and rng.random() < 0.9:
                self._take_effect(call)
            elif call.ended or call.unknown:
                if not call.ended and not call.never:
                    late.append(call)
                del clients[client]
                self._record(call)
        final = self.values[-1] if workload.look else None
        rng.shuffle(self.calls)
        return History(tuple(self.calls), self.initial, final, self.fault)

    def _begin(self, client: int) -> Running:
        workload, rng = self.workload, self.rng
        id = b"id%d" % rng.randrange(workload.ids)
        unknown = rng.random() < workload.unknown
        never = unknown and rng.random() < 0.4
        if rng.random() < workload.remove:
            return Running(client, "remove", id, self._stamp(), unknown, never)
        if rng.random() < workload.enqueue:
            return Running(client, "enqueue", id, self._stamp(), unknown, never)
        return Running(client, "dequeue", None, self._stamp(), unknown, never)

    def _take_effect(self, call: Running) -> None:
        pending = self.values[-1]
        if call.op == "dequeue" and pending and self.workload.model == "bag":
            at = self.rng.randrange(len(pending))
            pending = (pending[at], *pending[:at], *pending[at + 1 :])
        call.answer, pending = do(call.op, call.id, pending)
        call.ended = True
        self.values.append(pending)

    def _roll_back(self) -> None:
        stamp = self._stamp()
        self.fault = (stamp - self.rng.randrange(3), stamp + self.rng.randrange(3))
        back = self.rng.randrange(min(self.workload.lost, len(self.values))) + 1
        self.values.append(self.values[-back] if self.rng.random() < 0.8 else ())

    def _record(self, call: Running) -> None:
        untold = call.op != "dequeue" and self.rng.random() < self.workload.untold
        outcome = Outcome.UNKNOWN if call.unknown else Outcome.ANSWERED
        answer = UNTOLD if untold or call.unknown else call.answer
        self.calls.append(
            Call(str(call.client), call.op, call.id, call.call, self._stamp(), answer, outcome)
        )

    def _stamp(self) -> int:
        return self.clock // self.workload.coarse * self.workload.coarse


def do(op: Operation, id: Id | None, pending: Pending) -> tuple[Answer, Pending]:
    """What the model says."""
    if op == "dequeue":
        return fifo.dequeue(pending)
    assert id is not None
    return fifo.enqueue(pending, id) if op == "enqueue" else fifo.remove(pending, id)


def simulate(seed: int, workload: Workload) -> History:
    """What these clients would have recorded."""
    return Simulation(workload, random.Random(seed)).run()


def explainable(history: History, model: Model) -> bool:
    """Brute force, from the definition: try every order of every choice of calls, for few calls."""
    calls = [call for call in history.calls if call.outcome is not Outcome.NOT_EXECUTED]
    start = frozenset(range(len(calls)))
    return any(_ends(history, calls, model, start, (history.initial,), history.fault is None))


def _ends(
    history: History,
    calls: list[Call],
    model: Model,
    left: frozenset[int],
    values: tuple[Pending, ...],
    over: bool,
    latest: float = float("-inf"),
) -> Iterator[bool]:
    """True for every order. `over`: the fault has struck; `latest`: the call placed that began
    last, and nothing that ended before it may come after it.
    """
    answered = [at for at in left if calls[at].outcome is Outcome.ANSWERED]
    if not answered and _is(history.final, values[-1], model):
        yield True
    if history.fault and not over and latest <= history.fault[1]:
        for value in {(), *values}:
            since = max(latest, history.fault[0])
            yield from _ends(history, calls, model, left, (*values, value), True, since)
    for at in left:
        call = calls[at]
        known = call.outcome is Outcome.ANSWERED
        if known and call.ret is not None and call.ret < latest:
            return
    for at in left:
        call = calls[at]
        for answer, value in _choices(call, values[-1], model):
            if call.outcome is Outcome.UNKNOWN or call.answer in (UNTOLD, answer):
                then = max(latest, call.call)
                yield from _ends(history, calls, model, left - {at}, (*values, value), over, then)


def _choices(call: Call, pending: Pending, model: Model) -> Iterator[tuple[Answer, Pending]]:
    if call.op == "dequeue" and model == "bag" and pending:
        for at, id in enumerate(pending):
            yield id, pending[:at] + pending[at + 1 :]
    else:
        yield do(call.op, call.id, pending)


def _is(final: Pending | None, pending: Pending, model: Model) -> bool:
    if final is None or model == "fifo":
        return final in (None, pending)
    return sorted(final) == sorted(pending)

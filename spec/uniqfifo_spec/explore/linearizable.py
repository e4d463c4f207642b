"""Linearizability, judged while the run goes on.

A state keeps every *reading* of the run so far that is still possible: what is pending in the
abstract queue, the answers of calls under way that have taken effect in that reading already, and
the calls without answer that may still take effect at any time. When a call is answered, the
readings that can explain the answer are kept; other calls may take effect just before it, never
earlier than needed (just-in-time linearization, Lowe 2017). No reading left: the answer is false.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, NamedTuple

from uniqfifo_spec import fifo
from uniqfifo_spec.designs import Answer, Keys
from uniqfifo_spec.explore.configuration import Operation
from uniqfifo_spec.explore.events import Calls, End, Judgement, Step, leaving
from uniqfifo_spec.explore.monitors import Stateless
from uniqfifo_spec.fifo import Pending

Outcomes = Iterator[tuple[Answer, Pending]]
Model = Callable[[Operation, Pending], Outcomes]


class Reading(NamedTuple):
    """One explanation of the run so far."""

    pending: Pending
    answers: tuple[tuple[Answer] | None, ...]
    """Per client: the answer that its call under way will have to give, if it has taken effect."""
    open: tuple[Operation, ...]
    """The calls without answer that have not taken effect; sorted."""


Readings = frozenset[Reading]


def to_fifo(operation: Operation, pending: Pending) -> Outcomes:
    """What `operation` may do to the queue, as `fifo.py` has it."""
    match operation:
        case Operation("enqueue", (id,)):
            yield fifo.enqueue(pending, id)
        case Operation("dequeue"):
            yield fifo.dequeue(pending)
        case _:  # A start may find a LIST with repetitions, and migrate it.
            yield None, pending
            yield None, tuple(dict.fromkeys(pending))


def to_bag(operation: Operation, pending: Pending) -> Outcomes:
    """The same, but a dequeue may take any pending id; order is not kept."""
    if operation.verb == "dequeue" and pending:
        for id in dict.fromkeys(pending):
            place = pending.index(id)
            yield id, pending[:place] + pending[place + 1 :]
    else:
        for answer, after in to_fifo(operation, pending):
            yield answer, tuple(sorted(after))


class Linearizable(Stateless):
    """There is a total order of all answered calls and some of the unanswered ones that respects
    real time and in which every answer is the model's.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._known: dict[Hashable, Readings] = {}

    def initial(self, keys: Keys, clients: int) -> Any:
        queue = leaving(keys)
        ordered = queue if self._model is to_fifo else tuple(sorted(queue))
        return frozenset({Reading(ordered, (None,) * clients, ())})

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        if step.end is End.RUNNING or not state:
            return state, None
        # What is in the keys does not matter here: many steps look alike.
        way = (
            state,
            step.client,
            step.end,
            step.answer,
            *(call and call[0] for call in step.calls),
        )
        if way not in self._known:
            self._known[way] = self._after(state, step)
        readings = self._known[way]
        return readings, False if not readings else step.end is End.ANSWERED or None

    def _after(self, readings: Readings, step: Step) -> Readings:
        match step.end:
            case End.UNANSWERED:
                return frozenset(_left_open(reading, step) for reading in readings)
            case End.REFUSED:  # no other answer may have been explained by its effect
                return frozenset(r for r in readings if r.answers[step.client] is None)
            case _:
                return frozenset(self._explaining(readings, step))

    def renumbered(self, state: Any, order: Sequence[int]) -> Any:
        return frozenset(
            reading._replace(answers=tuple(reading.answers[client] for client in order))
            for reading in state
        )

    def _explaining(self, readings: Readings, step: Step) -> Iterator[Reading]:
        """The readings in which the call has taken effect and must give its answer."""
        todo, met = [*readings], {*readings}
        while todo:
            reading = todo.pop()
            forced = reading.answers[step.client]
            if forced is None:
                new = {*self._next(reading, step.calls)} - met
                met |= new
                todo += new
            elif forced == (step.answer,):
                yield _answering(reading, step.client, None)

    def _next(self, reading: Reading, calls: Calls) -> Iterator[Reading]:
        """What becomes of a reading when one more call takes effect."""
        for client, call in enumerate(calls):
            if call and reading.answers[client] is None:
                for answer, after in self._model(call.operation, reading.pending):
                    yield _answering(reading._replace(pending=after), client, (answer,))
        for place, operation in enumerate(reading.open):
            rest = reading.open[:place] + reading.open[place + 1 :]
            for _, after in self._model(operation, reading.pending):
                yield reading._replace(pending=after, open=rest)


def _answering(reading: Reading, client: int, answer: tuple[Answer] | None) -> Reading:
    answers = reading.answers
    return reading._replace(answers=(*answers[:client], answer, *answers[client + 1 :]))


def _left_open(reading: Reading, step: Step) -> Reading:
    """The call will not be answered: it has taken effect in this reading, or may yet, or never."""
    if reading.answers[step.client] is not None:
        return _answering(reading, step.client, None)
    return reading._replace(open=tuple(sorted((*reading.open, step.operation), key=str)))

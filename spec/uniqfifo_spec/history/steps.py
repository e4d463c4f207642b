"""A history made ready for the search: stamps become ranks, unknown outcomes optional steps."""

from collections.abc import Iterable
from typing import NamedTuple

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer, Call, History, Outcome

NEVER = 1 << 62
"""The rank of a return that did not come."""

GAP = 4
"""From one rank to the next."""

BARRIER = "barrier"
"""The operation of a step that does nothing, but has its place among the others."""


class Step(NamedTuple):
    """Something that takes effect once between `call` and `ret`; if not `must`, perhaps.

    `answer` is what it is known to have answered; `leaves` a guess at when the id that it enqueues
    is taken; `number` its place among the calls of the history.
    """

    call: int
    ret: int
    op: str
    id: Id | None
    answer: Answer
    must: bool
    leaves: int
    number: int

    @property
    def about(self) -> Answer:
        """The one id that it can touch; None if it found nothing; UNTOLD if it can be any."""
        return self.answer if self.op in ("dequeue", BARRIER) else self.id

    @property
    def adds(self) -> bool:
        """Whether it may add a copy of an id."""
        return self.op == "enqueue" and self.answer is not False

    @property
    def needs(self) -> bool:
        """Whether it certainly takes a copy of an id."""
        if not self.must or self.op == "enqueue":
            return False
        return self.answer is True or isinstance(self.answer, bytes)

    @property
    def finds_it_absent(self) -> bool:
        """Whether it certainly finds its id absent, and adds it."""
        return self.must and self.op == "enqueue" and self.answer is True

    @property
    def finds_it_pending(self) -> bool:
        """Whether it certainly finds its id pending, and leaves it so."""
        return self.must and self.op == "enqueue" and self.answer is False


class Move(NamedTuple):
    """A step by its index, what it answers, and what is pending after it.

    `doom` is when a call with unknown outcome must have taken the id that this move adds, if none
    other can take it in time.
    """

    at: int
    answer: Answer
    after: Pending
    doom: int | None = None


class Prepared(NamedTuple):
    """The steps of a history by rank of call, and its fault window in ranks."""

    steps: list[Step]
    fault: tuple[int, int] | None


def prepare(history: History) -> Prepared:
    """Every call that may have had an effect that anyone saw, as a step."""
    calls = [
        (number, call)
        for number, call in enumerate(history.calls)
        if call.outcome is not Outcome.NOT_EXECUTED
    ]
    stamps = {call.call for _, call in calls} | {*(history.fault or ())}
    stamps |= {call.ret for _, call in calls if call.ret is not None}
    # With gaps, in which a barrier finds room.
    rank = {stamp: GAP * place for place, stamp in enumerate(sorted(stamps))}
    seen = _seen(history, (call for _, call in calls))
    taken: dict[Answer, list[int]] = {}
    for _, call in calls:
        if call.op == "dequeue" and call.ret is not None:
            taken.setdefault(call.answer, []).append(rank[call.ret])
    for ranks in taken.values():
        ranks.sort(reverse=True)
    steps = []
    for number, call in sorted(calls, key=lambda each: (rank[each[1].call], each[0])):
        begun = rank[call.call]
        must = call.outcome is Outcome.ANSWERED
        if call.op == "enqueue" and not must and call.id not in seen:
            # Nobody ever saw this id pending. Leaving the call out of an explanation that uses it
            # gives one that is as good: only "empty" and "added" answers depend on an absence.
            continue
        ret = NEVER if call.ret is None or not must else rank[call.ret]
        answer = call.answer if must else UNTOLD
        takings = taken.get(call.id, [])
        while call.op == "enqueue" and takings and takings[-1] < begun:
            takings.pop()  # too early for the later enqueues as well
        leaves = takings[-1] if call.op == "enqueue" and takings else NEVER
        steps.append(Step(begun, ret, call.op, call.id, answer, must, leaves, number))
    window = None if history.fault is None else (rank[history.fault[0]], rank[history.fault[1]])
    return Prepared(steps, window)


def _seen(history: History, calls: Iterable[Call]) -> set[Answer]:
    """The ids that some answer, or the final content, says were pending."""
    seen: set[Answer] = {*(history.final or ())}
    for call in calls:
        if call.outcome is not Outcome.ANSWERED:
            continue
        if call.op == "dequeue":
            seen.add(call.answer)
        elif call.answer is (call.op == "remove") or call.answer is UNTOLD:
            seen.add(call.id)
    return seen

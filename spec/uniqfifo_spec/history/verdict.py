"""The verdict on one history, and the first point that nothing explains."""

from dataclasses import dataclass, replace
from enum import Enum

from uniqfifo_spec.history.calls import Call, History, Outcome, Stamp
from uniqfifo_spec.history.explain import Explanation, explain
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.search import Limit, LimitReached

LIMIT = 1_000_000
"""How many configurations a verdict may cost."""


class Verdict(Enum):
    """Undecided: the limit was reached. That is never a pass."""

    EXPLAINABLE = "explainable"
    UNEXPLAINABLE = "unexplainable"
    UNDECIDED = "undecided"


@dataclass(frozen=True, slots=True)
class Point:
    """The first return that cannot have been: all that was known before it can be explained.

    - `calls`: which calls returned then, by their places in the history; none if all returns can be
      explained, but what was pending at the end cannot
    - `stamp`: when that was
    - `open`: the other calls that had begun and not returned
    - `before`: an explanation of what was known before
    - `exact`: if not, the limit was reached; there may be an earlier point, and `before` ends early
    """

    calls: tuple[int, ...]
    stamp: Stamp | None
    open: tuple[int, ...]
    before: Explanation
    exact: bool


@dataclass(frozen=True, slots=True)
class Judgement:
    """`explanation` comes with EXPLAINABLE, `point` with UNEXPLAINABLE.

    `configurations` is what the verdict cost.
    """

    model: Model
    verdict: Verdict
    explanation: Explanation | None
    point: Point | None
    configurations: int


def judge(history: History, model: Model = "fifo", *, limit: int = LIMIT) -> Judgement:
    """Whether concurrent calls on one `model` can have had these answers.

    - `history`: the calls on one queue
    - `model`: fifo, or bag, whose dequeue may take any pending id
    - `limit`: how many configurations the verdict may cost, and the search for the point again
    """
    spent = Limit(limit)
    try:
        found = explain(model, history, spent)
    except LimitReached:
        return Judgement(model, Verdict.UNDECIDED, None, None, spent.entered)
    if found:
        return Judgement(model, Verdict.EXPLAINABLE, found, None, spent.entered)
    cost = spent.entered
    point = _first_point(model, history, limit)
    return Judgement(model, Verdict.UNEXPLAINABLE, None, point, cost)


def judge_both(history: History, *, limit: int = LIMIT) -> tuple[Judgement, Judgement]:
    """The verdicts as a bag and as a fifo.

    What a fifo explains a bag explains in the same way, so that costs no second search.
    """
    fifo = judge(history, "fifo", limit=limit)
    if fifo.verdict is Verdict.EXPLAINABLE:
        return replace(fifo, model="bag", configurations=0), fifo
    return judge(history, "bag", limit=limit), fifo


def known_at(history: History, stamp: Stamp) -> History:
    """What was known then: no later call, no later answer, and nobody had looked at the end."""
    fault = history.fault
    if fault:
        fault = None if stamp < fault[0] else (fault[0], min(fault[1], stamp))
    calls = tuple(_known_at(call, stamp) for call in history.calls)
    return replace(history, calls=calls, final=None, fault=fault)


def _known_at(call: Call, stamp: Stamp) -> Call:
    if stamp < call.call:
        return replace(call, outcome=Outcome.NOT_EXECUTED)
    if call.outcome is Outcome.ANSWERED and call.ret is not None and stamp < call.ret:
        return replace(call, ret=None, outcome=Outcome.UNKNOWN)
    return call


def _first_point(model: Model, history: History, limit: int) -> Point:
    """By bisection: what explains more explains, up to a point, what was known earlier."""
    answered = [call for call in history.calls if call.outcome is Outcome.ANSWERED]
    stamps = sorted({call.ret for call in answered if call.ret is not None})
    spent = Limit(limit)
    before, exact = Explanation((), history.initial), True
    low, high = -1, len(stamps)  # what was known at low is explained, or cost too much
    while low + 1 < high:
        middle = (low + high) // 2
        try:
            with spent.part(limit // 8) as part:
                found = explain(model, known_at(history, stamps[middle]), part)
        except LimitReached:
            low, exact = middle, False
            continue
        if found:
            low, before, exact = middle, found, True
        else:
            high = middle
    if high == len(stamps):
        return Point((), None, (), before, exact)
    stamp = stamps[high]
    known = known_at(history, stamp).calls
    places = range(len(known))
    return Point(
        calls=tuple(at for at in places if _returned_at(known[at], stamp)),
        stamp=stamp,
        open=tuple(at for at in places if known[at].outcome is Outcome.UNKNOWN),
        before=before,
        exact=exact,
    )


def _returned_at(call: Call, stamp: Stamp) -> bool:
    return call.outcome is Outcome.ANSWERED and call.ret == stamp

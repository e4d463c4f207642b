"""What the calls of one round on one queue were, in the judge's eyes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from enum import StrEnum
from math import inf

from uniqfifo_spec.history import History, Judgement, Outcome, Verdict, judge_both

LIMIT = 1_000_000
"""How many configurations a verdict may cost."""


class Kind(StrEnum):
    """The verdict on a history; the first two are what a queue can do."""

    EXPLAINED = "explained"
    ROLLED_BACK = "rolled back"
    REORDERED = "reordered"
    LOST = "lost"
    DUPLICATED = "duplicated"
    UNEXPLAINED = "unexplained"
    UNDECIDED = "undecided"


def kinds(history: History) -> set[Kind]:
    """All that is to be said of it."""
    bag, fifo = judge_both(history, limit=LIMIT)
    if fifo.verdict is Verdict.EXPLAINABLE:
        return {_explained(fifo)}
    if Verdict.UNDECIDED in (fifo.verdict, bag.verdict):
        return {Kind.UNDECIDED}
    if bag.verdict is Verdict.EXPLAINABLE:
        return {Kind.REORDERED}
    return {*_counted(history)} or {Kind.UNEXPLAINED}


def _explained(judgement: Judgement) -> Kind:
    assert judgement.explanation
    return Kind.ROLLED_BACK if judgement.explanation.rolled_back else Kind.EXPLAINED


def _counted(history: History) -> Iterator[Kind]:
    """Loss and duplicates that show in how often an id went in and came out."""
    answered = [call for call in history.calls if call.outcome is Outcome.ANSWERED]
    unknown = [call for call in history.calls if call.outcome is Outcome.UNKNOWN]
    final = history.final or ()
    taken = [call for call in answered if call.op == "dequeue" and call.answer is not None]
    came_out = Counter([call.answer for call in taken] + list(final))
    went_in = Counter([call.id for call in answered if call.id and call.answer is True])
    went_in.update(history.initial)
    maybe_in = Counter(call.id for call in unknown)
    maybe_out = maybe_in[None]  # dequeues

    if came_out - went_in - maybe_in or len({*final}) < len(final):
        yield Kind.DUPLICATED
    last_seen = {
        call.answer: call.ret or 0 for call in sorted(taken, key=lambda call: call.ret or 0)
    }
    last_seen |= dict.fromkeys(final, inf)
    forgotten = {call.id for call in answered if last_seen.get(call.id, -1) < call.call}
    if (went_in - came_out).total() > maybe_out or len(forgotten - {None}) > maybe_out:
        yield Kind.LOST

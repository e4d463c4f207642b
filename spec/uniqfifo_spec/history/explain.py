"""Why a recorded history is what a queue can do; or that there is no explanation."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history import rollback
from uniqfifo_spec.history.calls import Call, History, Outcome
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.search import Limit, LimitReached, Placed, Search
from uniqfifo_spec.history.steps import Step, prepare

PATIENCE = 1000
"""How many configurations are entered, and as many more as there are calls, before trying parts."""

PARTS = (1, 2, 3, 4, 6, 8)
"""How many of the ids that stood in the way are judged alone."""


@dataclass(frozen=True, slots=True)
class RolledBack:
    """After so many calls of an explanation the queue went back, and this was pending then."""

    after: int
    pending: Pending


@dataclass(frozen=True, slots=True)
class Explanation:
    """The calls that took effect, by their places in the history, in an order that explains all.

    `pending` is what they left.
    """

    order: tuple[int, ...]
    pending: Pending
    rolled_back: RolledBack | None = None


def explain(
    model: Model, history: History, limit: Limit, *, careful: bool = True
) -> Explanation | None:
    """An explanation, or None if there is none. Raises LimitReached.

    If the search drags on, parts are judged: an order that explains the whole history explains,
    with the calls about other ids left out, what remains about some ids. That goes for the queue
    (the head is the head of what remains, if it is one of those ids), for the bag, and for a
    rollback. So a part without explanation settles it, and the ids that stood in the way of the
    search make parts of a few calls.
    """
    if not careful:
        return _explain(model, history, limit, careful)
    patience = PATIENCE + len(history.calls)
    with limit.part(patience) as part:
        try:
            return _explain(model, history, part, careful)
        except LimitReached as reached:
            clash = reached.clash
    for size in PARTS:
        with limit.part(patience) as part:
            try:
                if _explain(model, only(history, clash[:size]), part, careful) is None:
                    return None
            except LimitReached:
                pass
    return _explain(model, history, limit, careful)


def only(history: History, ids: Sequence[Id]) -> History:
    """What the history says about these ids.

    That includes each dequeue that found nothing, and each whose answer is unknown.
    """
    kept = tuple(call for call in history.calls if _is_about(call, ids))
    return replace(
        history,
        calls=kept,
        initial=tuple(id for id in history.initial if id in ids),
        final=history.final and tuple(id for id in history.final if id in ids),
    )


def _is_about(call: Call, ids: Sequence[Id]) -> bool:
    if call.op != "dequeue":
        return call.id in ids
    return call.outcome is not Outcome.ANSWERED or call.answer is None or call.answer in ids


def _explain(model: Model, history: History, limit: Limit, careful: bool) -> Explanation | None:
    steps, fault = prepare(history)
    search = Search(model, steps, history.initial, history.final, careful=careful)
    try:
        if search.run(limit):
            return _explanation(history, search.placed)
        if fault is None:
            return None

        def run(
            steps: Sequence[Step],
            initial: Pending,
            final: Pending | None = None,
            accept: Callable[[Placed], bool] | None = None,
        ) -> Placed | None:
            search = Search(model, steps, initial, final, accept=accept, careful=careful)
            return search.placed if search.run(limit) else None

        found = rollback.find(run, steps, history.initial, history.final, fault)
    except LimitReached as reached:
        reached.clash = search.clash()
        raise
    if found is None:
        return None
    before, restored, since = found
    whole = _explanation(history, [*before, *since])
    pending = since[-1][1] if since else restored
    return replace(whole, pending=pending, rolled_back=RolledBack(len(before), restored))


def _explanation(history: History, placed: Placed) -> Explanation:
    order = tuple(step.number for step, _ in placed)
    return Explanation(order, placed[-1][1] if placed else history.initial)

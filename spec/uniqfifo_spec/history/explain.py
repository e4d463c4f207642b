"""Why a recorded history is what a queue can do; or that there is no explanation."""

from dataclasses import dataclass

from uniqfifo_spec.fifo import Pending
from uniqfifo_spec.history.calls import History
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.rollback import Finder
from uniqfifo_spec.history.search import Limit, LimitReached, Placed
from uniqfifo_spec.history.solver import Solver
from uniqfifo_spec.history.steps import prepare


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
    """An explanation, or None if there is none. Raises LimitReached."""
    steps, fault = prepare(history)
    initial, final = history.initial, history.final
    solver = Solver(model, limit, careful=careful)
    if fault is None:
        return _straight(solver.solve(steps, initial, final), initial)
    # Where nothing was lost there is an explanation without a rollback, and it is found soon.
    undecided = False
    try:
        with solver.part_of(limit.left // 4) as part:
            placed = part.solve(steps, initial, final)
        if placed is not None:
            return _straight(placed, initial)
    except LimitReached:
        undecided = True
    found = Finder(solver, steps, initial, final).run(*fault)
    if found:
        before, restored, since = found
        pending = since[-1][1] if since else restored
        return Explanation(_order([*before, *since]), pending, RolledBack(len(before), restored))
    return _straight(solver.solve(steps, initial, final), initial) if undecided else None


def _straight(placed: Placed | None, initial: Pending) -> Explanation | None:
    if placed is None:
        return None
    return Explanation(_order(placed), placed[-1][1] if placed else initial)


def _order(placed: Placed) -> tuple[int, ...]:
    return tuple(step.number for step, _ in placed)

"""Why a recorded history is what a queue can do; or that there is no explanation."""

from dataclasses import dataclass

from uniqfifo_spec.fifo import Pending
from uniqfifo_spec.history import rollback
from uniqfifo_spec.history.calls import History
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.search import Limit, Placed
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
    placed = solver.solve(steps, initial, final)
    if placed is not None:
        return Explanation(_order(placed), placed[-1][1] if placed else initial)
    found = fault and rollback.find(solver, steps, initial, final, fault)
    if not found:
        return None
    before, restored, since = found
    return Explanation(
        _order([*before, *since]),
        since[-1][1] if since else restored,
        RolledBack(len(before), restored),
    )


def _order(placed: Placed) -> tuple[int, ...]:
    return tuple(step.number for step, _ in placed)

"""Searches that give up on the whole when a part of it has no solution."""

from collections.abc import Callable, Collection, Sequence

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.search import Limit, LimitReached, Placed, Search
from uniqfifo_spec.history.steps import Step

PATIENCE = 1000
"""How many configurations are entered, and as many more as there are steps, before trying parts."""

SIZES = (1, 2, 3, 4, 6, 8)
"""How many of the ids that stood in the way make a part."""


class Solver:
    """Looks for orders of steps, all on one model and one limit.

    An order that explains all steps explains, with those about other ids left out, what remains
    about some ids: the head is the head of what remains, if it is one of these ids; nothing pending
    is nothing of them pending; a dequeue of which nobody knows what it took may have taken none of
    them. So a part without solution settles the whole. The ids that stood in the way of a search
    that drags on make parts of few steps, in which there is little to guess.

    `part` has the ids of the part that settled the last one, or none.
    """

    def __init__(self, model: Model, limit: Limit, *, careful: bool = True) -> None:
        self.part: tuple[Id, ...] = ()
        self._model = model
        self._limit = limit
        self._careful = careful

    def solve(
        self,
        steps: Sequence[Step],
        initial: Pending,
        final: Pending | None = None,
        accept: Callable[[Placed], bool] | None = None,
    ) -> Placed | None:
        """An order that explains all steps, or None. Raises LimitReached. Arguments as in Search."""
        self.part = ()
        search = Search(self._model, steps, initial, final, accept=accept, careful=self._careful)
        if not self._careful:
            return search.placed if search.run(self._limit) else None
        with self._limit.part(PATIENCE + len(steps)) as patience:
            try:
                return search.placed if search.run(patience) else None
            except LimitReached:
                pass
        clash = search.clash()
        for size in SIZES:
            part = clash[:size]
            if not self.may_solve(only(steps, part), initial, final, part):
                self.part = part
                return None
        # Again from the start: the memo of the first search is lost, but that was short.
        search = Search(self._model, steps, initial, final, accept=accept)
        return search.placed if search.run(self._limit) else None

    def may_solve(
        self,
        steps: Sequence[Step],
        initial: Pending,
        final: Pending | None,
        ids: Collection[Id],
    ) -> bool:
        """Whether there is an order of these steps, which are all about these ids; or no answer."""
        ours = tuple(id for id in initial if id in ids)
        end = final and tuple(id for id in final if id in ids)
        with self._limit.part(PATIENCE) as patience:
            try:
                return Search(self._model, steps, ours, end).run(patience)
            except LimitReached:
                return True


def only(steps: Sequence[Step], ids: Collection[Id]) -> list[Step]:
    """The steps about some ids, those that found nothing pending, and those that can be about any."""
    return [step for step in steps if step.about in ids or step.about in (None, UNTOLD)]

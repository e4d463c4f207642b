"""Searches that give up on the whole when a part of it has no solution."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.search import Limit, LimitReached, Placed, Search
from uniqfifo_spec.history.steps import Step

PATIENCE = 1000
"""How many configurations are entered, and as many more as there are steps, before trying parts."""

PROMPT = 100
"""A search that failed with so few configurations needs no part to explain why."""

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
        self.limit = limit
        self.careful = careful

    def solve(
        self,
        steps: Sequence[Step],
        initial: Pending,
        final: Pending | None = None,
        accept: Callable[[Placed], bool] | None = None,
    ) -> Placed | None:
        """An order that explains all steps, or None. Raises LimitReached. As in `Search`."""
        asked = False

        def ask(placed: Placed) -> bool:
            nonlocal asked
            asked = True
            return accept is None or accept(placed)

        def search(*, whole: bool) -> Search:
            return Search(
                self._model, steps, initial, final, accept=ask, whole=whole, careful=self.careful
            )

        first = search(whole=True)
        self.part = first.short[:1]
        if self.part:
            return None
        over = False
        with self.limit.part(PATIENCE + len(steps)) as patience:
            try:
                if first.run(patience):
                    return first.placed
                over = accept is None or not asked
            except LimitReached:
                pass
        self.part = ()  # by now it may be that of a search that was made to accept an order
        if self.careful and patience.entered > PROMPT:
            self.part = self._settling_part(first.clash, steps, initial, final)
        if over or self.part:
            return None
        # Again from the start: the memo of the first search is lost, but that was short.
        again = search(whole=accept is None)
        found = again.run(self.limit)
        self.part = ()
        return again.placed if found else None

    def _settling_part(
        self, clash: tuple[Id, ...], steps: Sequence[Step], initial: Pending, final: Pending | None
    ) -> tuple[Id, ...]:
        for size in SIZES:
            part = clash[:size]
            ours = tuple(id for id in initial if id in part)
            end = final and tuple(id for id in final if id in part)
            search = Search(self._model, only(steps, part), ours, end)
            try:
                with self.limit.part(PATIENCE) as patience:
                    if not search.run(patience):
                        return part
            except LimitReached:
                pass
        return ()

    @contextmanager
    def part_of(self, configurations: int) -> Iterator["Solver"]:
        """A solver with a smaller limit."""
        with self.limit.part(configurations) as part:
            yield Solver(self._model, part, careful=self.careful)


def only(steps: Sequence[Step], ids: Collection[Id]) -> list[Step]:
    """The steps about some ids, those that found nothing, and those that can be about any id."""
    return [step for step in steps if step.about in ids or step.about in (None, UNTOLD)]

"""Explanations with one rollback: in the fault window the queue became an earlier value, or empty.

Such a run is A, B, the rollback, C: B is what was lost. C begins with what A left pending, and so
does B. So A and C are searched as one history, with a barrier between them, and then B alone, from
what was pending at the barrier. (In the order of time instead, a wrong guess in A would show only
in C, when all of B had been gone through.)

Where A ends, and where the rollback comes, are instants of real time: an order that real time
allows can be cut anywhere so that some instant lies between the two parts. Between two calls it
makes no difference where it lies, so one try for each call is enough, and the search is exact. A
call that spans an instant may belong to either side of it: there it is an optional step.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer
from uniqfifo_spec.history.search import Placed
from uniqfifo_spec.history.solver import Solver, only
from uniqfifo_spec.history.steps import BARRIER, NEVER, Step

Found = tuple[Placed, Pending, Placed]
"""What came before the rollback, what that made pending, and what came after."""


def find(
    solver: Solver,
    steps: Sequence[Step],
    initial: Pending,
    final: Pending | None,
    window: tuple[int, int],
) -> Found | None:
    """The first explanation with a rollback, of those with the earliest one that loses least."""
    return _Finder(solver, steps, initial, final).run(*window)


class _Finder:
    def __init__(
        self, solver: Solver, steps: Sequence[Step], initial: Pending, final: Pending | None
    ) -> None:
        self._solver = solver
        self._steps = steps
        self._initial = initial
        self._final = final
        # What settled one attempt may well settle the next: ids, and the steps about them.
        self._parts: list[tuple[tuple[Id, ...], list[Step]]] = []

    def run(self, since: int, until: int) -> Found | None:
        calls = sorted({step.call for step in self._steps})
        for instant in (since, *(call for call in calls if since < call <= until)):
            for cut in _cuts(self._steps, self._initial, self._final, instant):
                found = self._kept_until(cut, instant)
                if found:
                    return found
            found = self._nothing_kept(instant)
            if found:
                return found
        return None

    def _kept_until(self, cut: int, instant: int) -> Found | None:
        """A ends at `cut`, and C begins at `instant`."""
        for ids, steps in self._parts:
            part = _with_barrier(steps, cut, instant)
            if not self._solver.may_solve(part, self._initial, self._final, ids):
                return None
        found: list[Found] = []

        def lost(placed: Placed) -> bool:
            at = next(at for at, (step, _) in enumerate(placed) if step.op == BARRIER)
            restored = placed[at][1]
            between = self._solver.solve(_others(self._steps, placed, instant), restored)
            if between is not None:
                found.append(([*placed[:at], *between], restored, placed[at + 1 :]))
            return bool(found)

        kept = _with_barrier(self._steps, cut, instant)
        self._solver.solve(kept, self._initial, self._final, accept=lost)
        if self._solver.part:
            part = self._solver.part
            self._parts = [(part, only(self._steps, part)), *self._parts[:7]]
        return found[0] if found else None

    def _nothing_kept(self, instant: int) -> Found | None:
        """The key was lost: all that comes before `instant` is B, and C begins with nothing."""
        found: list[Found] = []

        def lost(placed: Placed) -> bool:
            between = self._solver.solve(_others(self._steps, placed, instant), self._initial)
            if between is not None:
                found.append((between, (), placed))
            return bool(found)

        kept = [*_outside(self._steps, -1, instant)]
        self._solver.solve(kept, (), self._final, accept=lost)
        return found[0] if found else None


def _with_barrier(steps: Sequence[Step], cut: int, instant: int) -> list[Step]:
    barrier = Step(cut + 1, cut + 1, BARRIER, None, UNTOLD, True, NEVER, -1)
    return sorted((barrier, *_outside(steps, cut, instant)), key=lambda step: step.call)


def _outside(steps: Sequence[Step], cut: int, instant: int) -> Iterator[Step]:
    """The steps that can belong to A or C; optional if they can belong to B as well."""
    for step in steps:
        before, after = step.call <= cut, instant <= step.ret
        between = step.call <= instant and cut <= step.ret
        if not step.must or not between:
            yield step
        elif after:
            # The barrier comes right after `cut`: the step must not end before it.
            yield step._replace(must=False, ret=max(step.ret, cut + 1))
        elif before:
            yield step._replace(must=False, ret=cut)


def _others(steps: Sequence[Step], placed: Placed, instant: int) -> list[Step]:
    """The steps left for B."""
    used = {step.number for step, _ in placed}
    return [step for step in steps if step.number not in used and step.call <= instant]


def _cuts(
    steps: Sequence[Step], initial: Pending, final: Pending | None, instant: int
) -> Iterator[int]:
    """The instants at which A could end, the latest first; the last is before all calls.

    Left out are those with which some id would have to be taken more often, in A and C, than it was
    there or was added (as in `Outlook`, but all cuts are gone through in one pass).
    """
    slack: Counter[Answer] = Counter(initial)
    slack.subtract(final or ())
    for step in steps:
        slack[step.about] += step.adds
        slack[step.about] -= step.needs and not step.call <= instant <= step.ret
    ended = [step for step in steps if step.ret < instant]  # these count as long as A has them
    adds = [step for step in ended if step.adds]
    needs = sorted((step for step in ended if step.needs), key=lambda step: step.ret)
    short = {id for id, spare in slack.items() if spare < 0}

    def count(step: Step, change: int) -> None:
        slack[step.about] += change
        (short.add if slack[step.about] < 0 else short.discard)(step.about)

    for cut in (*sorted({step.call for step in steps if step.call <= instant}, reverse=True), -2):
        while adds and adds[-1].call > cut:
            count(adds.pop(), -1)
        while needs and needs[-1].ret >= cut:
            count(needs.pop(), 1)
        if not short:
            yield cut

"""Explanations with one rollback: in the fault window the queue became an earlier value, or empty.

Such a run is A, B, the rollback, C: B is what was lost. C begins with what A left pending, and so
does B. So A and C are searched as one history, with a barrier between them, and then B alone, from
what was pending at the barrier. (In the order of time instead, a wrong guess in A would show only
in C, when all of B had been gone through.)

Where A ends, and where the rollback comes, are instants of real time: an order that real time
allows can be cut anywhere so that some instant lies between the two parts. Between two calls it
makes no difference where it lies, so one try for each call is enough. A call that spans an instant
may belong to either side of it, and every choice is tried: the search is exact.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import product

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer
from uniqfifo_spec.history.search import LimitReached, Placed
from uniqfifo_spec.history.solver import PATIENCE, Solver
from uniqfifo_spec.history.steps import BARRIER, NEVER, Step

Found = tuple[Placed, Pending, Placed]
"""What came before the rollback, what that made pending, and what came after."""


BEFORE = -4
"""A rank before all calls."""

CULPRITS = 8

Parts = dict[int, str]
"""A, B or C for each step that has taken effect for certain, by its number."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A ends at `kept`, C begins at `instant`.

    `kept` is None if the key was lost: then A is empty, and nothing is pending after the rollback.
    """

    kept: int | None
    instant: int

    def allowed(self, step: Step) -> str:
        """The parts to which a step may belong."""
        a = self.kept is not None and step.call <= self.kept
        b = step.call <= self.instant and (self.kept is None or self.kept <= step.ret)
        c = self.instant <= step.ret
        return "A" * a + "C" * c + "B" * b

    def without_lost(self, steps: Sequence[Step], parts: Parts) -> list[Step]:
        """A and C, with a barrier between them. Calls with unknown outcome are on either side."""
        kept = BEFORE if self.kept is None else self.kept
        found = [Step(kept + 1, kept + 1, BARRIER, None, UNTOLD, True, NEVER, -1)]
        for step in steps:
            part = parts.get(step.number)
            if part is None:
                found.append(step)
            elif part == "A":
                found.append(step._replace(ret=min(step.ret, kept)))
            elif part == "C":
                later = max(step.call, kept + 2)
                found.append(step._replace(call=later, ret=max(step.ret, later)))
        return sorted(found, key=lambda step: step.call)


class _Settled(Exception):
    """There is no explanation."""


class Finder:
    """Looks for explanations with a rollback."""

    def __init__(
        self, solver: Solver, steps: Sequence[Step], initial: Pending, final: Pending | None
    ) -> None:
        self._solver = solver
        self._steps = steps
        self._initial = initial
        self._final = final
        # Some ids that settled an attempt, latest first, and what is known of the steps about them.
        self._about: dict[Answer, list[Step]] = {}
        for step in steps:
            self._about.setdefault(step.about, []).append(step)
        self._culprits: list[tuple[Id, ...]] = []
        self._known: dict[object, bool] = {}

    def run(self, since: int, until: int) -> Found | None:
        """An explanation, if there is one; of several the one with the earliest rollback that loses
        least, unless others are easier to find.

        `since`, `until`: the fault window. Raises LimitReached.
        """
        undecided: list[tuple[Cut, Parts]] = []
        calls = sorted({step.call for step in self._steps})
        for instant in (since, *(call for call in calls if since < call <= until)):
            self._known.clear()
            for kept in (*_plausible(self._steps, self._initial, self._final, instant), None):
                cut = Cut(kept, instant)
                for parts in self._choices(cut):
                    try:
                        with self._solver.part_of(PATIENCE + 4 * len(self._steps)) as solver:
                            found = self._attempt(solver, cut, parts)
                    except LimitReached:
                        undecided.append((cut, {**parts}))
                        continue
                    if found:
                        return found
        for cut, parts in undecided:
            found = self._attempt(self._solver, cut, parts)
            if found:
                return found
        return None

    def _choices(self, cut: Cut) -> Iterator[Parts]:
        """Every way to choose parts, but for those in which some id alone forbids it."""
        parts: Parts = {}
        spanning: dict[Answer, list[tuple[int, str]]] = {}
        for step in self._steps:
            allowed = cut.allowed(step) if step.must else ""
            if len(allowed) > 1:
                spanning.setdefault(step.about, []).append((step.number, allowed))
            elif allowed:
                parts[step.number] = allowed
        free: list[tuple[Answer, list[Parts]]] = []
        for about, steps in spanning.items():
            numbers = [number for number, _ in steps]
            choices = [
                dict(zip(numbers, choice, strict=True))
                for choice in product(*(allowed for _, allowed in steps))
            ]
            if isinstance(about, bytes):
                choices = [
                    choice
                    for choice in choices
                    if self._may(cut, (about,), parts | choice, alone=True)
                ]
            free.append((about, choices))
        suspects = {id for ids in self._culprits for id in ids}
        free.sort(key=lambda each: (each[0] is not None, each[0] not in suspects, len(each[1])))
        yield from self._chosen(cut, parts, free, 0)

    def _chosen(
        self, cut: Cut, parts: Parts, free: list[tuple[Answer, list[Parts]]], done: int
    ) -> Iterator[Parts]:
        """Every choice, when those before `done` have been made."""
        self._solver.limit.spend()
        if done == len(free):
            yield parts
            return
        still_free = {about for about, _ in free[done:]}
        for choice in free[done][1]:
            # Asked each time, since there may be new culprits.
            if not self._is_open(cut, parts, still_free):
                return
            parts |= choice
            yield from self._chosen(cut, parts, free, done + 1)

    def _is_open(self, cut: Cut, parts: Parts, free: Set[Answer]) -> bool:
        """Whether no culprits whose parts have been chosen forbid it."""
        return None in free or all(
            self._may(cut, ids, parts) for ids in self._culprits if free.isdisjoint(ids)
        )

    def _attempt(self, solver: Solver, cut: Cut, parts: Parts) -> Found | None:
        if not self._is_open(cut, parts, frozenset()):
            return None

        def learn(ids: tuple[Id, ...]) -> None:
            if ids and ids not in self._culprits:
                self._culprits = [ids, *self._culprits[: CULPRITS - 1]]
                if not self._may(cut, ids, parts):
                    raise _Settled

        try:
            return _explain(solver, cut, parts, self._steps, self._initial, self._final, learn)
        except _Settled:
            return None

    def _may(self, cut: Cut, ids: tuple[Id, ...], parts: Parts, *, alone: bool = False) -> bool:
        """Whether there is an explanation of the steps about some ids; or no answer in short time.

        `alone`: leaving out what found nothing pending.
        """
        if not self._solver.careful:
            return True
        about: tuple[Answer, ...] = (*ids, UNTOLD) if alone else (*ids, UNTOLD, None)
        steps = sorted(
            (step for each in about for step in self._about.get(each, ())),
            key=lambda step: step.call,
        )
        key = (cut.kept is None, about, "".join(parts[step.number] for step in steps if step.must))
        if key not in self._known:
            initial = tuple(id for id in self._initial if id in ids)
            final = self._final and tuple(id for id in self._final if id in ids)
            try:
                with self._solver.part_of(PATIENCE) as solver:
                    self._known[key] = bool(
                        _explain(solver, cut, parts, steps, initial, final, lambda ids: None)
                    )
            except LimitReached:
                self._known[key] = True
        return self._known[key]


def _explain(
    solver: Solver,
    cut: Cut,
    parts: Parts,
    steps: Sequence[Step],
    initial: Pending,
    final: Pending | None,
    settled: Callable[[tuple[Id, ...]], None],
) -> Found | None:
    """An explanation with these parts. `settled` is told ids about which alone there is none."""
    found: list[Found] = []
    start = () if cut.kept is None else initial

    def explains_lost(placed: Placed) -> bool:
        at = next(at for at, (step, _) in enumerate(placed) if step.op == BARRIER)
        restored = placed[at][1]
        used = {step.number for step, _ in placed}
        rest = [step for step in steps if step.number not in used and step.call <= cut.instant]
        between = solver.solve(rest, initial if cut.kept is None else restored)
        if between is None:
            settled(solver.part)
        else:
            found.append(([*placed[:at], *between], restored, placed[at + 1 :]))
        return bool(found)

    if solver.solve(cut.without_lost(steps, parts), start, final, explains_lost) is None:
        settled(solver.part)
    return found[0] if found else None


def _plausible(
    steps: Sequence[Step], initial: Pending, final: Pending | None, instant: int
) -> Iterator[int]:
    """The instants at which A could end, the latest first; the last is before all calls.

    Left out are those with which some id would have to be taken more often, in A and C, than it was
    there or was added (as in `Demands`, but all instants are gone through in one pass).
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

    calls = {step.call for step in steps if step.call <= instant}
    for kept in (*sorted(calls, reverse=True), BEFORE):
        while adds and adds[-1].call > kept:
            count(adds.pop(), -1)
        while needs and needs[-1].ret >= kept:
            count(needs.pop(), 1)
        if not short:
            yield kept

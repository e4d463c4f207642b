"""What the steps still to be placed demand of each id: when it leaves, and what it can spare."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from itertools import zip_longest
from operator import le

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer
from uniqfifo_spec.history.ring import END, Ring
from uniqfifo_spec.history.steps import NEVER, Step

VANISHED = "vanished"
"""The operation of a step that no caller knows of: by then a certain id must have left."""


class Spare(IntEnum):
    """Whether a copy of an id may disappear unseen."""

    NO = 0
    IF_ADDED_UNSEEN = 1  # it is needed, but a call with unknown outcome may add it again in time
    YES = 2


class Demands:
    """The steps still to be placed, in several orders, out of which they are lifted when placed.

    - `call`, `ret`, `about`: of each step, by its index
    - `of`: the steps that can touch an id, by their calls; of None those that find nothing pending
    - `takings`: the steps that certainly take an id, or find none, by their returns. What was seen
      pending at the end counts as taken after all else, in its turn; an id of which it is known
      that it left, as vanished by then. Both have indexes beyond those of the steps.
    - `takers`: the dequeues of which nobody knows what they took, by their calls
    - `bit`: of the optional steps, in the options of a configuration
    - `slack`: the copies of an id that are pending, and those that may still be added, less those
      that certainly will be taken. Below zero there is no hope. An ordinary step leaves it as it
      is: it turns a copy that may be added into one that is pending, or takes one that it needs.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        initial: Pending,
        final: Pending | None,
        bit: Mapping[int, int],
    ) -> None:
        vanishings = [*_vanishings(steps, final)]
        self.steps = [*steps, *_taken_at_the_end(final or ()), *(step for _, step in vanishings)]
        self.call = [*(step.call for step in self.steps), NEVER + 1]  # the last is that of END
        self.ret = [*(step.ret for step in self.steps), NEVER + 1]
        self.about = [step.about for step in self.steps]
        self.bit = bit
        seen = range(len(self.steps) - len(vanishings))
        self._vanishing = {at: len(seen) + n for n, (at, _) in enumerate(vanishings)}
        by_id: dict[Answer, list[int]] = {id: [] for id in initial}
        for at in seen:
            by_id.setdefault(self.about[at], []).append(at)
        self.of = {id: Ring(ats) for id, ats in by_id.items()}
        self._takes = {at for at in seen if self.steps[at].must and self.steps[at].op == "dequeue"}
        takings = sorted({*self._takes, *self._vanishing.values()}, key=self.ret.__getitem__)
        self.takings = Ring(takings)
        self.takers = [at for at in by_id.get(UNTOLD, ()) if self.steps[at].op == "dequeue"]
        self.slack: Counter[Answer] = Counter(initial)
        for at in seen:
            self.slack[self.about[at]] += self.steps[at].adds - self.steps[at].needs

    def lift(self, at: int) -> None:
        """A step has been placed."""
        self.of[self.about[at]].lift(at)
        if at in self._takes:
            self.takings.lift(at)
        elif at in self._vanishing:
            self.takings.lift(self._vanishing[at])

    def put_back(self, at: int) -> None:
        """It has not. Last lifted, first put back."""
        self.of[self.about[at]].put_back(at)
        if at in self._takes:
            self.takings.put_back(at)
        elif at in self._vanishing:
            self.takings.put_back(self._vanishing[at])

    def leaves(self, id: Id) -> int:
        """The first call that can take this id, but for those of which nobody knows."""
        after = self.of[id].after
        at = after[END]
        while at != END and self.steps[at].op == "enqueue":
            at = after[at]
        return self.call[at]

    def taken_by(self, id: Id) -> int:
        """When some dequeue must have taken this id."""
        return self._earliest_return(id, lambda step: step.must and step.op == "dequeue")

    def absent_by(self, id: Id) -> int:
        """When this id must have been absent, and none but a dequeue can have taken it."""
        by = self._earliest_return(id, lambda step: step.finds_it_absent)
        removed = self._earliest_return(id, lambda step: step.op == "remove")
        return by if removed > NEVER else NEVER + 1

    def _earliest_return(self, id: Id, wanted: Callable[[Step], bool]) -> int:
        by = NEVER + 1
        after = self.of[id].after
        at = after[END]
        while self.call[at] < by:
            if wanted(self.steps[at]):
                by = min(by, self.ret[at])
            at = after[at]
        return by

    def is_added_before(self, id: Id, taking: int) -> bool:
        """Whether this taking certainly takes a copy that is still to be added.

        It does if an `added` comes before: then the id was absent.
        """
        after = self.of[id].after
        at = after[END]
        while at != taking:
            if self.steps[at].finds_it_absent and self.ret[at] < self.call[taking]:
                return True
            at = after[at]
        return False

    def spare(self, id: Id, *, placing: int, seen_pending: bool) -> Spare:
        """Whether the only copy of this id may disappear unseen.

        If some step needs a copy, one that can come before must add it: not `placing`, which is
        about to add the copy in question. `seen_pending`: a step that finds the id pending needs
        it as well.
        """
        spare = Spare.NO
        needed, by = False, NEVER
        after = self.of[id].after
        at = after[END]
        while self.call[at] <= by:
            step = self.steps[at]
            if step.adds and at != placing:
                if step.must:
                    return Spare.YES
                spare = Spare.IF_ADDED_UNSEEN
            elif step.needs or (seen_pending and step.finds_it_pending):
                needed, by = True, min(by, step.ret)
            at = after[at]
        return spare if needed else Spare.YES

    def is_noticed(self, adding: int) -> bool:
        """Whether some call can find that this step added its id, before one finds it absent."""
        by = NEVER
        after = self.of[self.about[adding]].after
        at = after[END]
        while self.call[at] <= by:
            step = self.steps[at]
            if step.finds_it_absent:
                by = min(by, step.ret)
            elif step.must or step.answer is not UNTOLD:
                return True
            at = after[at]
        return False

    def takers_suffice(self, times: Iterable[int], options: int) -> bool:
        """Whether for each of these times there is a taker of its own that has begun by then."""
        latest = sorted(times)
        if not latest:
            return True
        begun = [self.call[taker] for taker in self.takers if not options & self.bit[taker]]
        return len(latest) <= len(begun) and all(map(le, begun, latest))


def _taken_at_the_end(final: Pending) -> Iterator[Step]:
    for time, id in enumerate(final, start=NEVER - len(final)):
        yield Step(time, time, "dequeue", None, id, True, NEVER, -1)


def _vanishings(steps: Sequence[Step], final: Pending | None) -> Iterator[tuple[int, Step]]:
    """The steps that add an id which must have left by a certain time; that time as a step.

    If `added` comes after `added`, the id has left in between. If it was not there at the end, it
    has left before. Left out is what demands nothing new, since a taking in time is on record, and
    what a removal may explain, which takes the id from any place.
    """
    added: dict[Answer, list[int]] = {}
    taken: dict[Answer, list[Step]] = {}
    removed = {step.about for step in steps if step.op == "remove"}
    for at, step in enumerate(steps):
        if step.finds_it_absent and step.id not in removed:
            added.setdefault(step.id, []).append(at)
        elif step.must and step.op == "dequeue":
            taken.setdefault(step.about, []).append(step)
    for id, ats in added.items():
        takings = taken.get(id, [])
        for at, following in zip_longest(ats, ats[1:]):
            this = steps[at]
            if following is not None:
                by, known = steps[following].ret, this.ret < steps[following].call
            else:
                by, known = NEVER - 1 - len(final or ()), final is not None and id not in final
            first, last = (bisect_right(takings, time, key=_call) for time in (this.ret, by))
            if known and all(step.ret > by for step in takings[first:last]):
                yield at, Step(by, by, VANISHED, this.id, UNTOLD, True, NEVER, -1)


def _call(step: Step) -> int:
    return step.call

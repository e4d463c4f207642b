"""Which moves of the search leave hope, and which need no alternative.

Nothing here changes a verdict. Each rule says why it is sound, and the tests compare with the
search that has none.

Without them the search guesses in which order overlapping enqueues took effect, and what calls with
unknown outcome did; learns that a guess was wrong only when the ids come out, perhaps hundreds of
calls later; and has to back out of all that lies in between.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer
from uniqfifo_spec.history.demands import VANISHED, Demands, Spare
from uniqfifo_spec.history.objects import EFFECTS, Model
from uniqfifo_spec.history.ring import END
from uniqfifo_spec.history.steps import NEVER, Move, Step


class Hope(IntEnum):
    """How likely it is that a move leads anywhere."""

    NONE = 0
    LITTLE = 1  # if a call with unknown outcome takes an id, and then another adds it again
    SOME = 2  # if a call with unknown outcome takes an id
    FULL = 3


IDLE, ALONE = "idle", "alone"


class Outlook:
    """The rules, over the demands of the steps still to be placed.

    `whole`: whether these steps are all that depends on what is pending in between.
    """

    def __init__(self, model: Model, demands: Demands, initial: Pending, *, whole: bool) -> None:
        self._demands = demands
        self._effects = EFFECTS[model]
        self._ordered = model == "fifo"
        self._whole = whole
        self._repeats = len({*initial}) < len(initial)
        # Ordinary steps leave every slack as it is; without takers nothing is doomed.
        self._is_ordinary = [
            step.must and step.answer is not UNTOLD and step.op in ("enqueue", "dequeue")
            for step in demands.steps
        ]
        self._settles = [self._may_settle(step) for step in demands.steps]
        # The pending ids that a taker must take, and by when: nothing else can do it in time.
        self._doomed: dict[Answer, int] = {}
        self._saved: list[int | None] = []
        # By the step that would add another id: what has to leave before that can.
        self.missing: dict[int, Answer] = {}

    def make(self, move: Move, pending: Pending) -> None:
        """This move was made where `pending` was."""
        self._demands.lift(move.at)
        if not self._is_ordinary[move.at]:
            self._demands.slack[self._touched(move)] -= self._cost(move, pending)
        if self._demands.takers and len(move.after) != len(pending):
            id = self._touched(move)
            self._saved.append(self._doomed.pop(id, None))
            if move.doom is not None:
                self._doomed[id] = move.doom

    def take_back(self, move: Move, pending: Pending) -> None:
        """It was not. Last made, first taken back."""
        self._demands.put_back(move.at)
        if not self._is_ordinary[move.at]:
            self._demands.slack[self._touched(move)] += self._cost(move, pending)
        if self._demands.takers and len(move.after) != len(pending):
            id = self._touched(move)
            self._doomed.pop(id, None)
            doom = self._saved.pop()
            if doom is not None:
                self._doomed[id] = doom

    def _touched(self, move: Move) -> Answer:
        step = self._demands.steps[move.at]
        return move.answer if step.op == "dequeue" else step.id

    def _cost(self, move: Move, pending: Pending) -> int:
        """By how much a move shortens the slack of its id."""
        step = self._demands.steps[move.at]
        return len(pending) - len(move.after) + step.adds - step.needs

    def hope(
        self, move: Move, pending: Pending, options: int, ready: Sequence[int]
    ) -> tuple[Hope, Move]:
        """What hope there is after a move where `pending` is, and the move with its doom, if any.

        `ready`: all steps that can come next.
        """
        demands = self._demands
        at, _, after, _ = move
        step = demands.steps[at]
        if not self._is_ordinary[at]:
            unseen = step.answer is UNTOLD and not step.must
            if unseen and self._whole and not self._is_timely(move, pending, ready):
                return Hope.NONE, move
            id = self._touched(move)
            if demands.slack[id] < self._cost(move, pending):
                return Hope.NONE, move
            if isinstance(id, bytes) and len(after) < len(pending) and not step.needs:
                return self._hope_without(id, move, pending, options), move
        if self._ordered and step.id is not None and len(after) > len(pending):
            return self._hope_behind(step.id, move, pending, options)
        return Hope.FULL, move

    def _hope_without(self, id: Id, move: Move, pending: Pending, options: int) -> Hope:
        """When an id has left although no step needed it."""
        hope = self._dispensable(id, move.at, seen_pending=True)
        if hope is Hope.SOME:
            hope = Hope.FULL
        if self._demands.steps[move.at].op == "dequeue" and self._ordered and hope:
            # If it is to be taken again, it will stand behind all that is pending now.
            by = NEVER + 1 if self._repeats else self._demands.taken_by(id)
            dooms = {other: doom for other, doom in self._doomed.items() if other != id}
            if not self._all_leave(move.after, by, dooms, options | self._demands.bit[move.at]):
                return Hope.NONE
        return hope

    def _hope_behind(self, id: Id, move: Move, pending: Pending, options: int) -> tuple[Hope, Move]:
        """When an id stands behind all that was pending.

        Until the first call that can take it, it stays there. Every taking that must have ended by
        then finds it there: so none of them finds nothing pending, and each takes a copy of its id
        that stands before this one, hence one that is pending now, and not added later.

        If that fails, there is hope only in a taker.
        """
        demands = self._demands
        if not demands.steps[move.at].must:
            # A call with unknown outcome added it. If it must be absent later, all before it have
            # left by then. (For other calls, that is a taking on record, or a vanishing.)
            by = demands.absent_by(id)
            if not self._all_leave(pending, by, self._doomed, options):
                return Hope.NONE, move
        leaves = demands.leaves(id)
        at = demands.takings.after[END]
        ahead = {*pending} if demands.ret[at] < leaves else set()
        while demands.ret[at] < leaves:
            taken = demands.about[at]
            if (
                not isinstance(taken, bytes)
                or taken not in ahead
                or demands.steps[at].op == VANISHED
                or demands.is_added_before(taken, at)
            ):
                self.missing[move.at] = taken
                doom = demands.ret[at]
                if not demands.takers_suffice([*self._doomed.values(), doom], options):
                    return Hope.NONE, move
                hope = self._dispensable(id, move.at, seen_pending=False)
                return hope, move._replace(doom=doom)
            if not self._repeats:
                ahead.remove(taken)
            at = demands.takings.after[at]
        return Hope.FULL, move

    def _dispensable(self, id: Id, placing: int, *, seen_pending: bool) -> Hope:
        """What hope there is if a copy of this id disappears unseen."""
        if self._demands.slack[id] < 1:
            return Hope.NONE
        if self._repeats:
            return Hope.SOME
        spare = self._demands.spare(id, placing=placing, seen_pending=seen_pending)
        return {Spare.NO: Hope.NONE, Spare.IF_ADDED_UNSEEN: Hope.LITTLE, Spare.YES: Hope.SOME}[
            spare
        ]

    def _all_leave(
        self, pending: Pending, by: int, doomed: Mapping[Answer, int], options: int
    ) -> bool:
        """Whether all that is pending can have left by this time; takers take what nothing else
        can take so early.
        """
        dooms = {**doomed}
        for id in pending if by <= NEVER else ():
            if self._demands.leaves(id) > by:
                if not self._dispensable(id, END, seen_pending=False):
                    return False
                dooms[id] = min(by, dooms.get(id, by))
        return self._demands.takers_suffice(dooms.values(), options)

    def _is_timely(self, move: Move, pending: Pending, ready: Sequence[int]) -> bool:
        """Whether this step, of unknown outcome, could matter, and not as well later.

        - An enqueue: nobody notices it unless the id is found pending, or taken, before the next
          `added`. Otherwise it is undone unseen, and both that and the enqueue can be left out. It
          can wait for the step that notices, or for the next that adds anything behind it.
        - A dequeue can wait for the next step that could not have come with this id at the head, or
          with all the others behind it.
        """
        demands = self._demands
        step = demands.steps[move.at]
        others = [demands.steps[other] for other in ready if other != move.at]
        if step.op == "remove" or not any(other.must for other in others):
            return True
        if step.op == "dequeue":
            return any(self._sees(other, move.answer, pending) for other in others)
        return demands.is_noticed(move.at) and any(
            other.about == step.id or (self._ordered and other.adds) for other in others
        )

    def _sees(self, other: Step, taken: Answer, pending: Pending) -> bool:
        """Whether that this id has been taken may let the other step come next, or soon."""
        if other.op == "dequeue":
            return other.answer is None or (self._ordered and other.answer not in (taken, UNTOLD))
        about_it = other.id in pending if self._ordered else other.id == taken
        return about_it and (other.op == "remove" or other.answer is not False)

    def settled(self, ready: Iterable[int], pending: Pending) -> Move | None:
        """A move that needs no alternative: any order that explains the rest still does when this
        step is moved to its front. The step is one of `ready`, so real time is no obstacle.

        - An answer that says "nothing changed" holds here, and changes nothing.
        - A taking of x holds here, and overlaps nothing else that is about x. In that order nothing
          before it takes this x, unless its outcome is unknown; then the two can change places.
        - `added`, in a bag, likewise, if it overlaps no answer that says "nothing was pending". (In
          a queue it would change the order.)
        """
        for at in ready:
            if self._settles[at] and (self._settles[at] is IDLE or self._is_undisturbed(at)):
                step = self._demands.steps[at]
                for answer, after in self._effects(pending, step.op, step.id, step.answer):
                    return Move(at, answer, after)
        return None

    def _may_settle(self, step: Step) -> str:
        """IDLE if it certainly changes nothing; ALONE if it has to be undisturbed; or never."""
        if step.answer is UNTOLD:
            return ""
        if step.answer is False or step.answer is None:
            return IDLE
        return ALONE if step.op == "dequeue" or (step.adds and not self._ordered) else ""

    def _is_undisturbed(self, at: int) -> bool:
        step = self._demands.steps[at]
        return self._is_alone(at, step.about) and (not step.adds or self._is_alone(at, None))

    def _is_alone(self, at: int, about: Answer) -> bool:
        """Whether no other step that is about this can come before this one has ended."""
        ring = self._demands.of.get(about)
        if ring is None:
            return True
        first = ring.after[END]
        if first == at:
            first = ring.after[at]
        return self._demands.call[first] > self._demands.ret[at]

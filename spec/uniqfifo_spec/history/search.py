"""The search for one order of the calls that explains every answer.

Wing and Gong's search, with Lowe's memo of dead ends, on a doubly linked list as in porcupine. A
configuration is the set of steps placed so far and what is pending then. Next comes any step that
began before every step that is still to come has ended: real time decides only between calls that
do not overlap. A configuration whose every continuation failed is not tried again.

Sources: Wing, Gong, "Testing and verifying concurrent objects" (1993); Lowe, "Testing for
linearizability" (2017).
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer
from uniqfifo_spec.history.demands import Demands
from uniqfifo_spec.history.objects import EFFECTS, Effect, Model
from uniqfifo_spec.history.outlook import Hope, Outlook
from uniqfifo_spec.history.ring import END, Ring
from uniqfifo_spec.history.steps import BARRIER, NEVER, Move, Step

Place = tuple[int, int, int, int]
"""What has been placed: every must before the first number; of the musts from there on the bits of
the second; of the optional steps the bits of the third. The fourth tells barriers apart."""

Configuration = tuple[Place, Pending]
"""What has been placed, and what is pending then."""

Placed = list[tuple[Step, Pending]]
"""Steps in the order that explains them, each with what is pending after it."""


class LimitReached(Exception):
    """The search ended without an answer."""


class Limit:
    """How many configurations may still be entered, and how many were."""

    def __init__(self, configurations: int) -> None:
        self.left = configurations
        self.entered = 0

    def spend(self, configurations: int = 1) -> None:
        """Raises LimitReached if there are not so many left."""
        self.left -= configurations
        self.entered += configurations
        if self.left < 0:
            raise LimitReached

    @contextmanager
    def part(self, configurations: int) -> Iterator["Limit"]:
        """A smaller limit; what is spent of it is spent of this one."""
        part = Limit(min(configurations, self.left))
        try:
            yield part
        finally:
            self.left -= part.entered
            self.entered += part.entered


class Search:
    """One search. `steps` are in the order of their calls.

    - `final`: what must be pending at the end, or None if nobody looked
    - `accept`: is asked about each order that explains all, and the search goes on if it says no.
      What it says may depend on which steps were placed, on which of them before the barrier, and
      on what was pending there; on nothing else, or the memo would be wrong
    - `careful`: prune by what the rest of the history demands (`Outlook`). That changes no verdict:
      the tests compare with the plain search
    """

    def __init__(
        self,
        model: Model,
        steps: Sequence[Step],
        initial: Pending,
        final: Pending | None = None,
        *,
        accept: Callable[[Placed], bool] = lambda placed: True,
        whole: bool = True,
        careful: bool = True,
    ) -> None:
        self.placed: Placed = []
        self._furthest = -1  # the return that no order tried so far got past
        self._noted = -1  # the one that `clash` is about
        self.clash: tuple[Id, ...] = ()  # ids that stood in the way there
        self.short: tuple[Id, ...] = ()  # ids that would have to be taken more often than added
        self._steps = steps
        self._initial = initial
        self._accept = accept
        self._effects = EFFECTS[model]
        self._ordered = model == "fifo"
        self._final = None if final is None else self._value(final)
        # Each has one element more, which is that of END: it never begins.
        self._call = [*(step.call for step in steps), NEVER + 1]
        self._ret = [*(step.ret for step in steps), NEVER + 1]
        self._musts = Ring(at for at, step in enumerate(steps) if step.must)
        optional = [at for at, step in enumerate(steps) if not step.must]
        self._bit = {at: 1 << place for place, at in enumerate(optional)}
        # `accept` may care which of two like steps was placed; nothing else does.
        self._optional = _alike(steps, optional, careful and whole)
        self._outlook = None
        if careful:
            self._demands = Demands(steps, initial, final, self._bit)
            self._outlook = Outlook(model, self._demands, initial, whole=whole)
            self._promise = _promise(steps)
            slack = self._demands.slack
            self.short = tuple(id for id in slack if isinstance(id, bytes) and slack[id] < 0)
        self._failed: dict[Place, set[Pending]] = {}
        self._eras: dict[tuple[Place, Pending], int] = {}

    def run(self, limit: Limit) -> bool:
        """Whether there is an order, which is then in `placed`. Raises LimitReached."""
        if self.short:
            return False
        here: Configuration = ((self._musts.after[END], 0, 0, 0), self._initial)
        path: list[tuple[Configuration, Iterator[Move], Move]] = []
        path.append((here, self._moves(here), Move(END, None, ())))
        if here[0][0] == END and self._explains(path):
            return True
        while path:
            here, moves, made = path[-1]
            for move in moves:
                there = self._there(here, move)
                if self._is_dead_end(there):
                    continue
                limit.spend()
                self._make(move, here[1])
                path.append((there, self._moves(there), move))
                if there[0][0] == END and self._explains(path):
                    return True
                break
            else:
                self._failed.setdefault(here[0], set()).add(self._value(here[1]))
                path.pop()
                if path:
                    self._take_back(made, path[-1][0][1])
        return False

    def _moves(self, here: Configuration) -> Iterator[Move]:
        """What can come next, the most promising first."""
        (_, _, options, _), pending = here
        outlook = self._outlook
        ready, bound = self._ready()
        self._furthest = max(self._furthest, bound)
        if outlook:
            settled = outlook.settled(ready, pending)
            if settled:
                yield settled
                return
            ready.sort(key=self._promise.__getitem__)
        less: list[tuple[Hope, Move]] = []
        turns = self._in_turn(ready, options, bound) if self._optional else ready
        for at in turns:
            for answer, after in self._effect(self._steps[at], pending):
                move, hope = Move(at, answer, after), Hope.FULL
                if outlook:
                    hope, move = outlook.hope(move, pending, options, ready)
                if hope is Hope.FULL:
                    yield move
                elif hope:
                    less.append((hope, move))
        for _, move in sorted(less, key=lambda each: -each[0]):
            yield move
        if self._noted < bound == self._furthest:
            self._noted = bound
            self.clash = self._clash(ready, pending)

    def _clash(self, ready: Sequence[int], pending: Pending) -> tuple[Id, ...]:
        """The most urgent first. (Called where the search backs out first: it has come deepest.)"""
        missing = self._outlook.missing if self._outlook else {}
        ids: list[Answer] = []
        for at in sorted(ready, key=self._ret.__getitem__):
            ids += (self._steps[at].about, missing.get(at), *pending[:1])
        return tuple(id for id in dict.fromkeys((*ids, *pending)) if isinstance(id, bytes))

    def _in_turn(self, ready: list[int], options: int, bound: int) -> Iterator[int]:
        """What is ready, and then the optional steps, which are added to it as late as that."""
        yield from [*ready]
        optional = [*self._open_options(options, bound)]
        ready += optional
        yield from optional

    def _ready(self) -> tuple[list[int], int]:
        """The musts that can come next, and the earliest return among them.

        Whatever comes next began by then, an optional step too.
        """
        call, ret, after = self._call, self._ret, self._musts.after
        ready = []
        bound = NEVER
        at = after[END]
        while call[at] <= bound:
            ready.append(at)
            if ret[at] < bound:
                bound = ret[at]
            at = after[at]
        return ready, bound

    def _open_options(self, options: int, bound: int) -> Iterator[int]:
        """The optional steps that can come next, one of each kind."""
        for kind in self._optional:
            for at in kind:
                if not options & self._bit[at]:
                    if self._call[at] <= bound:
                        yield at
                    break

    def _effect(self, step: Step, pending: Pending) -> list[Effect]:
        if step.op == BARRIER:
            return [(None, pending)]
        effects = self._effects(pending, step.op, step.id, step.answer)
        if step.must or step.answer is not UNTOLD:
            return effects
        # That it took effect and changed nothing is the same as that it never did.
        return [effect for effect in effects if effect[1] != pending]

    def _there(self, here: Configuration, move: Move) -> Configuration:
        """Where a move leads."""
        head, ahead, options, era = here[0]
        at, _, pending, _ = move
        if at in self._bit:
            options |= self._bit[at]
        elif at != head:
            ahead |= 1 << at - head
        else:
            head = self._musts.after[head]
            ahead = 0 if head == END else ahead >> head - at
        if self._steps[at].op == BARRIER:
            era = self._eras.setdefault(((head, ahead, options, era), pending), len(self._eras) + 1)
        return (head, ahead, options, era), pending

    def _is_dead_end(self, there: Configuration) -> bool:
        failed = self._failed.get(there[0])
        return failed is not None and self._value(there[1]) in failed

    def _make(self, move: Move, pending: Pending) -> None:
        if move.at not in self._bit:
            self._musts.lift(move.at)
        if self._outlook:
            self._outlook.make(move, pending)

    def _take_back(self, move: Move, pending: Pending) -> None:
        if self._outlook:
            self._outlook.take_back(move, pending)
        if move.at not in self._bit:
            self._musts.put_back(move.at)

    def _explains(self, path: list[tuple[Configuration, Iterator[Move], Move]]) -> bool:
        """Whether this, with everything placed that must be, is an order to be accepted."""
        if self._final not in (None, self._value(path[-1][0][1])):
            return False
        self.placed = [(self._steps[at], after) for _, _, (at, _, after, _) in path[1:]]
        return self._accept(self.placed)

    def _value(self, pending: Pending) -> Pending:
        """What tells two configurations apart: in a bag there is no order."""
        return pending if self._ordered else tuple(sorted(pending))


def _alike(steps: Sequence[Step], optional: Sequence[int], merge: bool) -> list[list[int]]:
    """The optional steps by kind, each kind in the order of calls.

    Of several calls with unknown outcome that do the same, the first can stand for any: it began
    before the others, and like them it never ends.
    """
    kinds: dict[object, list[int]] = {}
    for at in optional:
        step = steps[at]
        kind = (step.op, step.id) if merge and step.answer is UNTOLD else at
        kinds.setdefault(kind, []).append(at)
    return list(kinds.values())


def _promise(steps: Sequence[Step]) -> list[int]:
    """The turn of each step among those that are ready.

    Takings come first; and of the enqueues the one whose id is taken first. A guess, no rule.
    """
    turns = sorted(
        range(len(steps)),
        key=lambda at: (steps[at].adds, steps[at].leaves if steps[at].adds else 0, steps[at].ret),
    )
    promise = [0] * len(steps)
    for turn, at in enumerate(turns):
        promise[at] = turn
    return promise

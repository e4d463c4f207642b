"""Breadth first over packed states.

Shared parts and local parts are numbered as they are met, and a state is one whole number: the
locals' numbers in a field each, the shared part's above them. What a client can do depends on its
own field and the shared part, so `state & mask` looks up its moves, and a move is what has to be
added to the state. The model is asked once per shared part and local part; the rest is counting.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from uniqfifo_spec.explore.model import Local, Model, Move, Shared

FIELD = 12
"""Bits per client: room for 4096 local parts."""

SHARED = 64
"""Bits that the masks leave for the shared part."""

CHUNK = 4096
"""States between two looks at the limit."""

Progress = Callable[[int], None]


class Find(NamedTuple):
    """The first step that broke a property; client None: the first state did."""

    state: int
    client: int | None = None
    choice: int = 0


class Search:
    """The reachable states of one model.

    Args:
        symmetry: Keep one of the states that differ only in which of the clients that are alike is
            which: the one in which their fields ascend.
    """

    def __init__(self, model: Model, *, symmetry: bool = True) -> None:
        self.states = 0
        self.transitions = 0
        self.complete = False
        self.finds: dict[str, Find] = {}
        self._model = model
        self._shareds: list[Shared] = []
        self._shared_number: dict[Shared, int] = {}
        self._locals: list[Local] = []
        self._local_number: dict[Local, int] = {}
        self._clients = len(model.configuration.clients)
        self._top = FIELD * self._clients
        self._tables: list[dict[int, tuple[int, ...]]] = [{} for _ in range(self._clients)]
        self._lookups = [(i, self._mask(i), table.get) for i, table in enumerate(self._tables)]
        self._parent: dict[int, int] = {}  # the first state is its own
        self._groups = model.configuration.alike() if symmetry else ()
        self._unmoved = tuple(range(self._clients))
        self._swapped: dict[tuple[int, tuple[int, ...]], int] = {}

    def run(self, limit: int, sought: Sequence[str] = (), progress: Progress | None = None) -> None:
        """Until every state was seen, every property sought is broken, or `limit` is passed."""
        shared, broken = self._model.initial()
        start = self._number(shared) << self._top
        self._local(Local(0))  # number 0: every field of the first state
        self.finds = {name: Find(start) for name in broken}
        self._parent = {start: start}
        layer = [start]
        while layer:
            following: list[int] = []
            for first in range(0, len(layer), CHUNK):
                if self._settled(sought) or len(self._parent) > limit:
                    self.states = len(self._parent)
                    return
                self._expand(layer[first : first + CHUNK], following)
                if progress:
                    progress(len(self._parent))
            layer = following
        self.states = len(self._parent)
        self.complete = True

    def path(self, find: Find) -> Iterator[Move]:
        """The moves up to and including the find, by clients as they were named at the start."""
        states = [find.state]
        while states[-1] != self._parent[states[-1]]:
            states.append(self._parent[states[-1]])
        states.reverse()
        names = [*range(self._clients)]
        for state, following in pairwise(states):
            move, after = self._move_to(state, following)
            yield move._replace(step=move.step._replace(client=names[move.step.client]))
            names = [names[client] for client in self._order(after)]
        if find.client is not None:
            move = self._moves(find.state, find.client)[find.choice]
            yield move._replace(step=move.step._replace(client=names[find.client]))

    def first(self) -> Shared:
        """The shared part of the first state."""
        return self._shareds[0]

    def _settled(self, sought: Sequence[str]) -> bool:
        return bool(sought) and all(name in self.finds for name in sought)

    def _expand(self, chunk: Sequence[int], following: list[int]) -> None:
        """Everything that can happen next in each of these states."""
        parent, clients, found = self._parent, self._lookups, following.append
        canonical = self._canonical if self._groups else None
        transitions = 0
        for state in chunk:
            for client, mask, known in clients:
                steps = known(state & mask)
                if steps is None:
                    steps = self._learn(state, client)
                transitions += len(steps)
                for step in steps:
                    after = state + step
                    if canonical:
                        after = canonical(after)
                    if after not in parent:
                        parent[after] = state
                        found(after)
        self.transitions += transitions

    def _learn(self, state: int, client: int) -> tuple[int, ...]:
        """Ask the model, once for all states that agree in what this client can see."""
        steps: list[int] = []
        for choice, move in enumerate(self._moves(state, client)):
            for name in move.broken:
                self.finds.setdefault(name, Find(state, client, choice))
            steps.append(self._distance(state, client, move))
        learnt = tuple(dict.fromkeys(steps))
        self._tables[client][state & self._mask(client)] = learnt
        return learnt

    def _distance(self, state: int, client: int, move: Move) -> int:
        """What the move adds to the state."""
        shared = self._number(move.shared) - (state >> self._top)
        local = self._local(move.local) - self._field(state, client)
        return (shared << self._top) + (local << FIELD * client)

    def _moves(self, state: int, client: int) -> list[Move]:
        shared = self._shareds[state >> self._top]
        return [*self._model.moves(client, shared, self._locals[self._field(state, client)])]

    def _move_to(self, state: int, following: int) -> tuple[Move, int]:
        """The first move that leads from one state to the other, and where before renaming."""
        for client in range(self._clients):
            for move in self._moves(state, client):
                after = state + self._distance(state, client, move)
                if self._canonical(after) == following:
                    return move, after
        raise AssertionError("a state that is not reached from its parent")

    def _canonical(self, state: int) -> int:
        """The state that stands for this one and those that differ in who is who."""
        order = self._order(state)
        if order == self._unmoved:
            return state
        way = (state >> self._top, order)
        if way not in self._swapped:
            self._swapped[way] = self._number(self._model.renumbered(self._shareds[way[0]], order))
        after = self._swapped[way] << self._top
        for client, was in enumerate(order):
            after += self._field(state, was) << FIELD * client
        return after

    def _order(self, state: int) -> tuple[int, ...]:
        """Who has to stand where, so that the fields of those who are alike ascend."""
        order = [*self._unmoved]
        for group in self._groups:
            ascending = sorted(group, key=lambda client: self._field(state, client))
            for client, was in zip(group, ascending, strict=True):
                order[client] = was
        return tuple(order)

    def _field(self, state: int, client: int) -> int:
        return state >> FIELD * client & (1 << FIELD) - 1

    def _mask(self, client: int) -> int:
        return ((1 << SHARED) - 1 << self._top) + ((1 << FIELD) - 1 << FIELD * client)

    def _number(self, shared: Shared) -> int:
        number = self._shared_number.setdefault(shared, len(self._shareds))
        if number == len(self._shareds):
            self._shareds.append(shared)
        return number

    def _local(self, local: Local) -> int:
        number = self._local_number.setdefault(local, len(self._locals))
        if number == len(self._locals):
            if number >> FIELD:
                raise OverflowError("more local parts than a field can number")
            self._locals.append(local)
        return number

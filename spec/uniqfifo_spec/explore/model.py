"""The transition relation: what one client can do next in a given state, and what that breaks.

A state is a `Shared` and one `Local` per client. A step of a client depends on the shared part and
on its own local part alone. That is what makes the search fast: the step is computed once for the
many states that agree in these two.

A call and its first command are one step, and so are its last command and its reply. A lost reply
and a crash are further outcomes of every last command; a client may also crash between two.
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from uniqfifo_spec.commands import Command, Error
from uniqfifo_spec.designs import Answer, Design, Keys
from uniqfifo_spec.explore.clock import EPOCH
from uniqfifo_spec.explore.configuration import START, Choice, Configuration, Operation
from uniqfifo_spec.explore.effects import Effect, Effects
from uniqfifo_spec.explore.events import Call, Calls, End, Judgement, Monitor, Step
from uniqfifo_spec.explore.places import FIRST, Ended, Outcome, Places


class Shared(NamedTuple):
    keys: Keys
    earliest: int
    """The earliest that the clock may read next."""
    lost: int
    """How many replies may yet be lost."""
    crashes: int
    calls: Calls
    memory: tuple[Any, ...]
    """What each monitor remembers."""


class Local(NamedTuple):
    calls: int
    """How many calls the client has begun."""
    operation: Operation | None = None
    """The call under way."""
    place: int = FIRST
    dead: bool = False
    """It crashed, or its start() was refused: it makes no more calls."""


DEAD = Local(0, dead=True)


class Move(NamedTuple):
    shared: Shared
    local: Local
    broken: tuple[str, ...]
    """The properties that this step breaks."""
    step: Step
    command: Command | None
    """None for a crash between two commands, and for a call that needs no command."""
    effect: Effect


class Turn(NamedTuple):
    """Whose step it is, and where from."""

    client: int
    shared: Shared
    local: Local
    """As it stands during the step: the call has begun."""
    operation: Operation
    begins: bool


class Model:
    """One configuration, watched by monitors."""

    def __init__(
        self, configuration: Configuration, monitors: Mapping[str, Monitor], *, merge: bool = True
    ) -> None:
        self.configuration = configuration
        self.monitors = monitors
        self.exercised: set[str] = set()
        """The properties that were put to the test at least once."""
        self._merge = merge
        self._choices = [*map(configuration.choices, range(len(configuration.clients)))]
        self._tables: dict[tuple[Design, Operation], Places] = {}
        self._effects = Effects(configuration.clock, configuration.ticks)
        self._at_rest: dict[Shared, tuple[str, ...]] = {}

    def initial(self) -> tuple[Shared, tuple[str, ...]]:
        """The first state, and the properties that it breaks."""
        keys, earliest = self._effects.ranked(self.configuration.initial, EPOCH)
        clients = len(self.configuration.clients)
        memory = tuple(monitor.initial(keys, clients) for monitor in self.monitors.values())
        lost, crashes = self.configuration.lost, self.configuration.crashes
        shared = Shared(keys, earliest, lost, crashes, (None,) * clients, memory)
        return shared, self._broken_at_rest(shared)

    def sound(self) -> bool:
        """Whether the search may be believed: see `places.py`."""
        return all(table.sound() for table in self._tables.values())

    def moves(self, client: int, shared: Shared, local: Local) -> Iterator[Move]:
        """Every step that `client` can make, in a fixed order."""
        if local.dead:
            return
        if local.operation is not None:
            turn = Turn(client, shared, local, local.operation, False)
            yield from self._run(turn, local.place)
            if shared.crashes:
                yield self._crash(turn, None, _nothing(shared))
            return
        for operation in self._choice(client, local.calls):
            begun = Local(local.calls + 1, operation)
            turn = Turn(client, shared, begun, operation, True)
            yield from self._run(turn, self._table(client, operation).begin)

    def renumbered(self, shared: Shared, order: Sequence[int]) -> Shared:
        """The same if client `order[i]` were client `i`."""
        watched = zip(self.monitors.values(), shared.memory, strict=True)
        return shared._replace(
            calls=tuple(shared.calls[client] for client in order),
            memory=tuple(monitor.renumbered(memory, order) for monitor, memory in watched),
        )

    def _run(self, turn: Turn, place: Outcome) -> Iterator[Move]:
        """The command at `place`, and what may become of its reply."""
        if isinstance(place, Ended):
            yield from self._endings(turn, None, _nothing(turn.shared), place.answer)
            return
        table = self._table(turn.client, turn.operation)
        command = table.commands[place]
        for effect in self._effects.of(command, turn.shared.keys, turn.shared.earliest):
            after = table.after(place, effect.reply)
            if isinstance(after, Ended):
                yield from self._endings(turn, command, effect, after.answer)
            else:
                local = turn.local._replace(place=after)
                yield self._move(turn, command, effect, local, End.RUNNING)

    def _endings(
        self, turn: Turn, command: Command | None, effect: Effect, answer: Answer
    ) -> Iterator[Move]:
        refused = turn.operation == START and isinstance(answer, Error)
        local = DEAD if refused else Local(turn.local.calls)
        yield self._move(turn, command, effect, local, End.ANSWERED, answer)
        if turn.shared.lost:
            local = Local(turn.local.calls)
            yield self._move(turn, command, effect, local, End.UNANSWERED, lost=1)
        if turn.shared.crashes:
            yield self._crash(turn, command, effect)

    def _crash(self, turn: Turn, command: Command | None, effect: Effect) -> Move:
        return self._move(turn, command, effect, DEAD, End.UNANSWERED, crashes=1)

    def _move(
        self,
        turn: Turn,
        command: Command | None,
        effect: Effect,
        local: Local,
        end: End,
        answer: Answer = None,
        *,
        lost: int = 0,
        crashes: int = 0,
    ) -> Move:
        shared, client = turn.shared, turn.client
        call = shared.calls[client]
        changed = effect.keys != shared.keys or (call is not None and call.changed)
        if isinstance(answer, Error):
            end = End.UNANSWERED if changed else End.REFUSED
        calls = _with(shared.calls, client, Call(turn.operation, changed))
        step = Step(
            client, turn.operation, turn.begins, shared.keys, effect.keys, end, answer, calls
        )
        memory, broken = self._observed(shared.memory, step)
        if end is not End.RUNNING or not self.monitors:
            calls = _with(calls, client, None)
        after = Shared(
            effect.keys,
            effect.earliest,
            shared.lost - lost,
            shared.crashes - crashes,
            calls,
            memory,
        )
        broken += self._broken_at_rest(after)
        return Move(after, local, broken, step, command, effect)

    def _observed(
        self, memory: tuple[Any, ...], step: Step
    ) -> tuple[tuple[Any, ...], tuple[str, ...]]:
        after: list[Any] = []
        broken: list[str] = []
        for (name, monitor), remembered in zip(self.monitors.items(), memory, strict=True):
            new, judgement = monitor.observe(remembered, step)
            after.append(new)
            self._note(name, judgement, broken)
        return tuple(after), tuple(broken)

    def _broken_at_rest(self, shared: Shared) -> tuple[str, ...]:
        if any(shared.calls):
            return ()
        if shared not in self._at_rest:
            broken: list[str] = []
            for (name, monitor), memory in zip(self.monitors.items(), shared.memory, strict=True):
                judgement = monitor.quiescent(memory, shared.keys, shared.earliest)
                self._note(name, judgement, broken)
            self._at_rest[shared] = tuple(broken)
        return self._at_rest[shared]

    def _note(self, name: str, judgement: Judgement, broken: list[str]) -> None:
        if judgement is not None:
            self.exercised.add(name)
        if judgement is False:
            broken.append(name)

    def _choice(self, client: int, calls: int) -> Choice:
        """What this client may call after so many calls."""
        choices = self._choices[client]
        return choices[calls] if calls < len(choices) else ()

    def _table(self, client: int, operation: Operation) -> Places:
        design = self.configuration.clients[client]
        if (design, operation) not in self._tables:
            program = partial(operation.program, design)
            self._tables[design, operation] = Places(program, merge=self._merge)
        return self._tables[design, operation]


def _nothing(shared: Shared) -> Effect:
    """The effect of sending nothing."""
    return Effect(None, shared.keys, shared.earliest)


def _with(calls: Calls, client: int, call: Call | None) -> Calls:
    return (*calls[:client], call, *calls[client + 1 :])

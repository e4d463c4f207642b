"""What is explored: which clients call what, under which clock, and what may go wrong meanwhile."""

from dataclasses import dataclass
from typing import Literal

from uniqfifo_spec.designs import Design, Keys, Program
from uniqfifo_spec.explore.clock import Axiom
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import Set, Value, kind, pending

Verb = Literal["enqueue", "dequeue", "start"]


@dataclass(frozen=True, slots=True)
class Operation:
    """One call."""

    verb: Verb
    arguments: tuple[Id, ...] = ()

    def program(self, design: Design) -> Program:
        program: Program = getattr(design, self.verb)(*self.arguments)
        return program

    def __str__(self) -> str:
        return " ".join([self.verb, *map(shown, self.arguments)])


def shown(id: Id) -> str:
    """An id for people to read."""
    return id.decode(errors="backslashreplace")


def members(value: Value) -> tuple[Id, ...]:
    """The ids in a key's value, be it a queue or a set."""
    return value.ids if isinstance(value, Set) else pending(value)


def enqueue(id: Id) -> Operation:
    return Operation("enqueue", (id,))


DEQUEUE = Operation("dequeue")
START = Operation("start")


Choice = tuple[Operation, ...]
"""What a client may call next: one of these."""


def free(number: int, ids: tuple[Id, ...] = (b"a", b"b")) -> tuple[Choice, ...]:
    """So many calls, each freely chosen."""
    return ((*map(enqueue, ids), DEQUEUE),) * number


@dataclass(frozen=True, slots=True)
class Configuration:
    """A question for the explorer.

    `operations` is the number of calls that each client makes, freely chosen from enqueue of `a`,
    enqueue of `b` and dequeue; or what each client calls, in order, be it an operation or a choice.
    `lost` and `crashes` bound, over all clients, how many replies are lost and how many clients
    die. `ticks` replaces the ranks of scores and clock by a clock that knows only so many readings:
    slower and bounded, but in need of no argument; the ranks are compared with it.
    """

    clients: tuple[Design, ...]
    operations: int | tuple[tuple[Operation | Choice, ...], ...] = 3
    clock: Axiom = "strict"
    lost: int = 0
    crashes: int = 0
    initial: Keys = (None, None)
    ticks: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.operations, int) and len(self.operations) != len(self.clients):
            raise ValueError("operations: one sequence per client, or one number for all")
        if len(self.initial) != 2:
            raise ValueError("initial: the queue's key, then the one that only set+list uses")

    def choices(self, client: int) -> tuple[Choice, ...]:
        """What this client may call first, second, …"""
        if isinstance(self.operations, int):
            return free(self.operations)
        calls = self.operations[client]
        return tuple((call,) if isinstance(call, Operation) else call for call in calls)

    def ids(self) -> tuple[Id, ...]:
        """Every id that a client may enqueue, in a fixed order."""
        choices = (choice for client in range(len(self.clients)) for choice in self.choices(client))
        called = (call for choice in choices for call in choice)
        return tuple(sorted({id for call in called for id in call.arguments}))

    def alike(self) -> tuple[tuple[int, ...], ...]:
        """The clients that nobody could tell apart, as groups of two or more."""
        groups: dict[tuple[Design, tuple[Choice, ...]], list[int]] = {}
        for client, design in enumerate(self.clients):
            groups.setdefault((design, self.choices(client)), []).append(client)
        return tuple(tuple(group) for group in groups.values() if len(group) > 1)

    def __str__(self) -> str:
        """The bound within which a verdict is meant."""
        names = "+".join(design.name for design in self.clients)
        if isinstance(self.operations, int):
            calls = f"{self.operations} free operations each"
        else:
            calls = "; ".join(map(self._calls, range(len(self.clients))))
        clock = f"{self.clock} clock" + (f" of {self.ticks} ticks" if self.ticks else "")
        held = [
            " ".join([kind(value), *map(shown, members(value))]) for value in self.initial if value
        ]
        start = f", from {' and '.join(held)}" if held else ""
        faults = f"lost replies: {self.lost}, crashes: {self.crashes}"
        return f"{names}: {calls}; {clock}, {faults}{start}"

    def _calls(self, client: int) -> str:
        return ", ".join(" | ".join(map(str, choice)) for choice in self.choices(client))

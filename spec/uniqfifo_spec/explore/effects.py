"""What one command does to the keys, once for each reading of the clock that makes a difference."""

from collections.abc import Iterator
from typing import NamedTuple

from uniqfifo_spec.commands import Command, Error, Reply, Time, ZLastScore
from uniqfifo_spec.designs import Atomic, Keys, step
from uniqfifo_spec.explore import clock


class Effect(NamedTuple):
    reply: Reply
    keys: Keys
    earliest: int
    """The earliest that the clock may read next."""
    reading: int | None = None
    """What the clock read; None if the command did not ask."""


class Effects:
    """Computed once per command, keys and clock.

    Args:
        axiom: What is assumed of the clock.
        ticks: How many readings it knows; None to keep ranks (see `clock.py`).
    """

    def __init__(self, axiom: clock.Axiom, ticks: int | None) -> None:
        self._axiom = axiom
        self._ticks = ticks
        self._known: dict[tuple[Command, Keys, int], tuple[Effect, ...]] = {}

    def of(self, command: Command, keys: Keys, earliest: int) -> tuple[Effect, ...]:
        way = (command, keys, earliest)
        if way not in self._known:
            self._known[way] = (*self._computed(command, keys, earliest),)
        return self._known[way]

    def ranked(self, keys: Keys, earliest: int) -> tuple[Keys, int]:
        return clock.ranked(keys, earliest) if self._ticks is None else (keys, earliest)

    def _computed(self, command: Command, keys: Keys, earliest: int) -> Iterator[Effect]:
        if self._ticks is None and isinstance(command, Time | ZLastScore):
            raise ValueError("a score that outlives its step has no rank: explore with ticks")
        if not reads_clock(command, keys):
            reply, after = step(command, keys, earliest)
            yield Effect(reply, *self.ranked(after, earliest))
            return
        met: set[Effect] = set()
        for reading in self._readings(keys, earliest):
            reply, after = step(command, keys, reading)
            following = clock.earliest_after(self._axiom, reading)
            effect = Effect(reply, *self.ranked(after, following))
            if effect not in met:
                met.add(effect)
                yield effect._replace(reading=reading)

    def _readings(self, keys: Keys, earliest: int) -> list[int]:
        if self._ticks is None:
            return clock.readings(keys, earliest)
        return clock.ticks(earliest, self._ticks)


def reads_clock(command: Command, keys: Keys) -> bool:
    """Whether this command, run on these keys, asks for the time."""
    if not isinstance(command, Atomic):
        return isinstance(command, Time)
    program = command.program(*command.arguments)
    try:
        part = next(program)
        while not reads_clock(part, keys):
            reply, keys = step(part, keys, clock.EPOCH)
            if isinstance(reply, Error):
                return False
            part = program.send(reply)
        return True
    except StopIteration:
        return False

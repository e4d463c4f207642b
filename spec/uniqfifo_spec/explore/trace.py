"""A run written down: who sent what, what came back, and what the keys held afterwards."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from uniqfifo_spec.commands import Command, Error, Reply
from uniqfifo_spec.designs import Answer, Design, Keys
from uniqfifo_spec.explore.configuration import DEQUEUE, Configuration, Operation, enqueue
from uniqfifo_spec.explore.events import End, leaving
from uniqfifo_spec.explore.model import Local, Model, Move
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import ZSet

Fault = Literal["reply lost", "crash"]
Clock = Literal["later", "same", "earlier"]


@dataclass(frozen=True, slots=True)
class Row:
    """One step."""

    client: int
    """Counted from 0; in an aftermath, one more than the last."""
    design: str
    operation: Operation
    begins: bool
    command: Command | None
    """None if nothing was sent, as when the client died between two commands."""
    reply: Reply
    keys: Keys
    """Afterwards. Scores are ranks: their order is right, their size means nothing."""
    end: End
    answer: Answer
    fault: Fault | None
    clock: Clock | None
    """How the server's clock stood to the scores on the key, if the step asked: `later` than all of
    them, as ever; the `same` as one; or `earlier`, which on a live server takes a trick."""


@dataclass(frozen=True, slots=True)
class Trace:
    """The shortest run that breaks a property."""

    broken: str
    """The name of the property."""
    configuration: Configuration
    initial: Keys
    rows: tuple[Row, ...]
    aftermath: tuple[Row, ...] = ()
    """If the queue is wedged: what a newcomer meets who enqueues an id and wants it back."""

    @property
    def needs_clock(self) -> bool:
        """Whether the run depends on what a server's clock rarely does."""
        return any(row.clock in ("same", "earlier") for row in self.rows)


def rows_of(moves: Iterable[Move], designs: tuple[Design, ...]) -> Iterator[Row]:
    for move in moves:
        step = move.step
        yield Row(
            client=step.client,
            design=designs[step.client].name,
            operation=step.operation,
            begins=step.begins,
            command=move.command,
            reply=move.effect.reply,
            keys=step.after,
            end=step.end,
            answer=step.answer,
            fault=_fault(move),
            clock=_clock(step.before, move.effect.reading),
        )


def newcomer(design: Design, id: Id, keys: Keys) -> Iterator[Move]:
    """All alone: enqueue `id`, then dequeue until it comes, or an error, or patience ends."""
    calls = (enqueue(id), *[DEQUEUE] * (len(leaving(keys)) + 1))
    model = Model(Configuration((design,), (calls,), initial=keys), {})
    shared, local = model.initial()[0], Local(0)
    while move := next(model.moves(0, shared, local), None):
        yield move
        shared, local = move.shared, move.local
        if isinstance(move.step.answer, Error) or move.step.answer == id:
            return


def _fault(move: Move) -> Fault | None:
    if move.step.end is not End.UNANSWERED or isinstance(move.step.answer, Error):
        return None
    return "crash" if move.local.dead else "reply lost"


def _clock(keys: Keys, reading: int | None) -> Clock | None:
    if reading is None:
        return None
    scores = [score for score, _ in keys[0].entries] if isinstance(keys[0], ZSet) else []
    if all(score < reading for score in scores):
        return "later"
    return "same" if reading in scores else "earlier"

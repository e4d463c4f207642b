"""FIFO, said without reference to a model: who may not be overtaken by whom."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

from uniqfifo_spec.designs import Keys
from uniqfifo_spec.explore.events import Call, End, Judgement, Step, leaving
from uniqfifo_spec.explore.monitors import Stateless
from uniqfifo_spec.fifo import Id

Ids = frozenset[Id]


class Note(NamedTuple):
    """What is known of an enqueue(y) under way."""

    ahead: Ids
    """The ids x whose enqueue was answered before this one began, and not taken since."""
    copy: Literal["unseen", "pushed", "gone", "overtook"] = "unseen"
    """This call has `pushed` y; y is `gone`, taken since the call began or since it pushed;
    y was taken `before` an id that is ahead of it; or nothing of this was seen."""

    def without(self, taken: Id, call: Call | None) -> "Note":
        copy = self.copy
        if call and taken in call.operation.arguments:
            copy = "overtook" if copy == "pushed" and self.ahead else "gone"
        return Note(self.ahead - {taken}, copy)


class Fifo(Stateless):
    """In runs where no id ever had two copies: if some enqueue(x) was answered, either way, before
    an enqueue(y) began that answered *added*, and x has not been taken since, then that y is not
    taken before x.

    "Since" is since enqueue(x) pushed x or, if it pushed nothing, since it began.
    Keeps all such x; for each y that is pending, those ahead of it; a note per enqueue under way.
    After a twin was seen it keeps nothing and judges nothing.
    """

    def initial(self, keys: Keys, clients: int) -> Any:
        return None if _twins(keys) else (frozenset(), frozenset(), (None,) * clients)

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        if state is None or _twins(step.after):
            return None, None
        queue = _Queue(state[0], dict(state[1]), [*state[2]])
        if step.begins and step.id is not None:
            queue.notes[step.client] = Note(queue.answered - {step.id})
        if step.added:
            queue.push(step)
        judgement: Judgement = None
        for id in step.taken:
            judgement = _worse(judgement, queue.take(id, step))
        if step.ends:
            judgement = _worse(judgement, queue.end(step))
        return (queue.answered, frozenset(queue.ahead.items()), tuple(queue.notes)), judgement

    def renumbered(self, state: Any, order: Sequence[int]) -> Any:
        return state and (state[0], state[1], tuple(state[2][client] for client in order))


class _Queue:
    """The monitor's memory, opened for one step."""

    def __init__(self, answered: Ids, ahead: dict[Id, Ids], notes: list[Note | None]) -> None:
        self.answered = answered
        self.ahead = ahead
        self.notes = notes

    def push(self, step: Step) -> None:
        note = self.notes[step.client]
        if note and step.id is not None:
            self.notes[step.client] = note._replace(copy="pushed")
            self.ahead.pop(step.id, None)

    def take(self, id: Id, step: Step) -> Judgement:
        overtaken = self.ahead.pop(id, frozenset())
        at_stake = any(id in ahead for ahead in self.ahead.values())
        self.answered -= {id}
        self.ahead = {other: rest for other, ahead in self.ahead.items() if (rest := ahead - {id})}
        self.notes = [
            note and note.without(id, call)
            for note, call in zip(self.notes, step.calls, strict=True)
        ]
        return False if overtaken else at_stake or None

    def end(self, step: Step) -> Judgement:
        note, self.notes[step.client] = self.notes[step.client], None
        if note is None or step.id is None or step.end is not End.ANSWERED:
            return None
        if note.copy in ("unseen", "pushed"):
            self.answered |= {step.id}
        if step.answer is True and note.copy == "pushed" and note.ahead:
            self.ahead[step.id] = note.ahead
        return False if step.answer is True and note.copy == "overtook" else None


def _twins(keys: Keys) -> bool:
    queue = leaving(keys)
    return len({*queue}) < len(queue)


def _worse(one: Judgement, other: Judgement) -> Judgement:
    return False if one is False or other is False else one or other

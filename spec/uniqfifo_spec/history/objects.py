"""The two abstract objects that concurrent calls are judged against.

`fifo` is the queue itself. `bag` is the same, except that a dequeue may take any pending id, as if
that id stood at the head. Both are made of the functions of `fifo.py`, which alone say what the
operations do.
"""

from collections.abc import Callable
from typing import Literal

from uniqfifo_spec import fifo
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Answer

Model = Literal["fifo", "bag"]

Effect = tuple[Answer, Pending]
Effects = Callable[[Pending, str, Id | None, Answer], list[Effect]]
"""(pending, operation, id, answer) to every (answer, pending afterwards) with that answer; with
every answer if it is UNTOLD."""


def fifo_effects(pending: Pending, op: str, id: Id | None, answer: Answer) -> list[Effect]:
    """At most one: a queue leaves no choice."""
    effect: Effect
    if op == "dequeue":
        effect = fifo.dequeue(pending)
    elif id is None:
        raise ValueError(f"{op} needs an id")
    elif op == "enqueue":
        effect = fifo.enqueue(pending, id)
    else:
        effect = fifo.remove(pending, id)
    return [effect] if answer is UNTOLD or answer == effect[0] else []


def bag_effects(pending: Pending, op: str, id: Id | None, answer: Answer) -> list[Effect]:
    """One for each id that a dequeue could take; otherwise as `fifo_effects`."""
    if op != "dequeue" or not pending:
        return fifo_effects(pending, op, id, answer)
    if answer is UNTOLD:
        heads = [pending.index(each) for each in dict.fromkeys(pending)]
    else:
        heads = [pending.index(answer)] if answer in pending else []
    return [fifo.dequeue((pending[at], *pending[:at], *pending[at + 1 :])) for at in heads]


EFFECTS: dict[Model, Effects] = {"fifo": fifo_effects, "bag": bag_effects}

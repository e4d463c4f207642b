"""What a recorder knows of the calls on one queue."""

from dataclasses import dataclass
from enum import Enum
from typing import Literal

from uniqfifo_spec.fifo import Id, Pending

Operation = Literal["enqueue", "dequeue", "remove"]

Stamp = int | float
"""A reading of one monotonic clock, in any unit. Equal stamps tell no order."""


class Outcome(Enum):
    """What the caller knows of the effect (SPEC: not executed, outcome unknown)."""

    ANSWERED = "answered"
    UNKNOWN = "unknown"
    NOT_EXECUTED = "not-executed"


class Untold(Enum):
    """The answer that nobody wrote down."""

    UNTOLD = "untold"


UNTOLD = Untold.UNTOLD

Answer = bool | Id | None | Untold
"""Of enqueue and remove a bool, of dequeue the id or None (empty); or nobody knows."""


class InvalidHistory(ValueError):
    """No queue can be judged by this: the record contradicts itself."""


class ReturnBeforeCall(InvalidHistory):
    """A call that ends before it begins: its two stamps are not from one monotonic clock."""


@dataclass(frozen=True, slots=True)
class Call:
    """One call of one client.

    - `id`: what is enqueued or removed; None for dequeue
    - `call`, `ret`: when it began; when it ended, or None if it never did
    - `answer`: what it returned. A port may keep to itself whether an enqueue *added*: UNTOLD
    - `outcome`: unknown, it may take effect once at any moment after `call`, or never, whatever
      `ret` says (that is when the caller gave up); not executed, it is ignored

    Raises InvalidHistory, or its child ReturnBeforeCall.
    """

    client: str
    op: Operation
    id: Id | None
    call: Stamp
    ret: Stamp | None
    answer: Answer = UNTOLD
    outcome: Outcome = Outcome.ANSWERED

    def __post_init__(self) -> None:
        if self.ret is not None and self.ret < self.call:
            raise ReturnBeforeCall(f"return {self.ret} is before call {self.call}")
        if (self.id is None) != (self.op == "dequeue"):
            raise InvalidHistory(f"{self.op} with id {self.id!r}")
        if self.outcome is not Outcome.ANSWERED:
            return
        if self.ret is None:
            raise InvalidHistory("an answered call needs the stamp of its return")
        if self.op == "dequeue" and not isinstance(self.answer, bytes | None):
            raise InvalidHistory(f"dequeue answered {self.answer!r}, which is neither id nor None")
        if self.op != "dequeue" and not isinstance(self.answer, bool | Untold):
            raise InvalidHistory(f"{self.op} answered {self.answer!r}, which is no bool")


@dataclass(frozen=True, slots=True)
class History:
    """The calls on one queue, in any order.

    - `initial`, `final`: what was pending before the first call; after the last, if anyone looked
    - `fault`: (from, until), in between which the server may have gone back once to an earlier
      value of the key, or have lost it: the rollback clause

    Raises InvalidHistory.
    """

    calls: tuple[Call, ...]
    initial: Pending = ()
    final: Pending | None = None
    fault: tuple[Stamp, Stamp] | None = None

    def __post_init__(self) -> None:
        if self.fault is not None and self.fault[1] < self.fault[0]:
            raise InvalidHistory(f"fault window {list(self.fault)} ends before it begins")

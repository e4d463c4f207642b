"""What a monitor sees: one step of one client."""

from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple, Protocol

from uniqfifo_spec.designs import Answer, Keys
from uniqfifo_spec.explore.configuration import Operation
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.keyspace import List, ZSet, pending


class Call(NamedTuple):
    """A call that has begun and not ended."""

    operation: Operation
    changed: bool
    """Whether one of its steps has changed a key."""


Calls = tuple[Call | None, ...]
"""Per client. While all are None, the state is quiescent."""


class End(Enum):
    """How a step leaves its call."""

    RUNNING = "running"
    ANSWERED = "answered"
    UNANSWERED = "unanswered"
    """The reply is lost, the client died, or an error came after something had been changed."""
    REFUSED = "refused"
    """An error came, and the call has changed nothing: it counts as never made."""


class Step(NamedTuple):
    client: int
    operation: Operation
    begins: bool
    before: Keys
    after: Keys
    end: End
    answer: Answer
    calls: Calls
    """The calls under way, this one included, as they stand before it ends."""

    @property
    def id(self) -> Id | None:
        """The id that is enqueued."""
        return self.operation.arguments[0] if self.operation.verb == "enqueue" else None

    @property
    def ends(self) -> bool:
        return self.end is not End.RUNNING

    @property
    def taken(self) -> Pending:
        """The ids of which this step of a dequeue removed a copy."""
        if self.operation.verb != "dequeue" or self.before == self.after:
            return ()
        before, after = leaving(self.before), leaving(self.after)
        return tuple(id for id in sorted({*before}) if before.count(id) > after.count(id))

    @property
    def added(self) -> bool:
        """Whether this step of an enqueue added a copy of its id."""
        id = self.id
        return id is not None and leaving(self.before).count(id) < leaving(self.after).count(id)


Judgement = bool | None
"""The property was put to the test and held; is broken; or, None, was not put to the test."""


class Monitor(Protocol):
    """One property. What it must remember is a hashable value, opaque to everyone else."""

    def initial(self, keys: Keys, clients: int) -> Any:
        """What is remembered before the first step."""

    def observe(self, state: Any, step: Step) -> tuple[Any, Judgement]:
        """What is remembered after `step`, and whether the property survived it."""

    def quiescent(self, state: Any, keys: Keys, earliest: int) -> Judgement:
        """Whether the property holds in a state in which no call is under way."""

    def renumbered(self, state: Any, order: Sequence[int]) -> Any:
        """The same if client `order[i]` were client `i`."""


def leaving(keys: Keys) -> Pending:
    """R: the ids in the queue's key, in leaving order; none if it holds no queue."""
    value = keys[0]
    return pending(value) if isinstance(value, List | ZSet) else ()

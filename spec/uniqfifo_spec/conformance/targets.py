"""Implementations under check, all driven through the same few calls."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, Protocol

import uniqfifo
from uniqfifo import QueueError, QueueType
from uniqfifo.storage import decode_id, encode_id
from uniqfifo_spec.history.calls import Untold

QUEUES = ("workflow", "event", "index")


@dataclass(frozen=True, slots=True)
class Failed:
    """A call that failed: its kind, in the words of the stdio protocol, and what it said."""

    kind: str
    message: str = ""


Answer = bool | bytes | None | Failed | Untold
"""What a call came to. Untold: an enqueue that succeeded, and the port does not tell whether the id
was pending, as it may."""


class Target(Protocol):
    """One host: an implementation with its own connection, on the three queues of a prefix.

    Ids are bytes. No method raises: what fails is answered with `Failed`.
    """

    def start(self) -> Answer: ...
    def enqueue(self, queue: str, id: bytes) -> Answer: ...
    def dequeue(self, queue: str) -> Answer: ...
    def stop(self) -> Answer: ...


OpenTarget = Callable[[str, str], Target]
"""Makes a host, not yet started, from a prefix and a storage."""


class ProviderTarget:
    """A `uniqfifo` provider, or anything with its methods and errors."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider

    def start(self) -> Answer:
        return self._answer(self._provider.start)

    def stop(self) -> Answer:
        return self._answer(self._provider.stop)

    def enqueue(self, queue: str, id: bytes) -> Answer:
        return self._answer(lambda: self._provider.queue_work(decode_id(id), QueueType(queue)))

    def dequeue(self, queue: str) -> Answer:
        def dequeue() -> bytes | None:
            id = self._provider.dequeue_work(QueueType(queue))
            # encode_id refuses the empty id, which a foreign writer can have put there.
            return None if id is None else encode_id(id) if id else b""

        return self._answer(dequeue)

    def _answer(self, call: Callable[[], Answer]) -> Answer:
        try:
            return call()
        except QueueError as error:
            return Failed(kind_of(error), str(error))
        except Exception as error:  # an untyped error is a fault, which the report shows
            return Failed("other", f"{type(error).__name__}: {error}")


def kind_of(error: QueueError) -> str:
    """The kind of a typed error, in the words of the stdio protocol."""
    match error:
        case uniqfifo.WrongKeyType():
            return "wrong-type"
        case uniqfifo.StartRefused(errors=errors):
            kinds = {kind_of(each) for each in errors.values()}
            return kinds.pop() if len(kinds) == 1 else "not-executed"
        case uniqfifo.InvalidId():
            return "invalid"
        case uniqfifo.NotStarted():
            return "not-started"
        case uniqfifo.OutcomeUnknown():
            return "outcome-unknown"
        case _:
            return "not-executed"


class Awaited:
    """An asyncio provider behind plain methods, on one event loop until the next stop()."""

    def __init__(self, provider: Any) -> None:
        self._provider = provider
        self._runner: asyncio.Runner | None = None

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return lambda *arguments: self._run(getattr(self._provider, name)(*arguments))

    def stop(self) -> None:
        self._run(self._provider.stop())
        if self._runner:
            self._run(asyncio.sleep(0))  # transports close one turn later
            self._runner.close()
            self._runner = None

    def _run(self, awaitable: Coroutine[Any, Any, Any]) -> Any:
        self._runner = self._runner or asyncio.Runner()
        return self._runner.run(awaitable)

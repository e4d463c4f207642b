"""A unique pending FIFO queue on Redis.

An id is pending at most once; ids leave in the order in which they became pending; enqueueing a
pending id changes nothing. `SPEC.md` is the specification, `uniqfifo_spec` its executable model.
The asyncio twins are in `uniqfifo.asyncio`.
"""

from typing import Any

from uniqfifo._queue import UniqueQueue
from uniqfifo.errors import (
    InvalidId,
    NotExecuted,
    NotStarted,
    OutcomeUnknown,
    QueueError,
    Reason,
    StartRefused,
    StartUnknown,
    WrongKeyType,
)
from uniqfifo.provider import RedisQueueProvider
from uniqfifo.storage import QueueType, Storage

__all__ = [
    "InvalidId",
    "NotExecuted",
    "NotStarted",
    "OutcomeUnknown",
    "QueueError",
    "QueueType",
    "Reason",
    "RedisQueueProvider",
    "StartRefused",
    "StartUnknown",
    "Storage",
    "UniqueQueue",
    "WrongKeyType",
]


def __getattr__(name: str) -> Any:
    # Loaded when first used: most programs need one of the two halves.
    if name == "asyncio":
        from importlib import import_module

        return import_module("uniqfifo.asyncio")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

"""What a failed call can mean: certainly no effect, or perhaps its effect, once.

Every error that a queue raises is a `NotExecuted` or an `OutcomeUnknown`. Cancellation and
KeyboardInterrupt pass through as they are; they mean outcome unknown.
"""

from collections.abc import Mapping
from enum import StrEnum


class Reason(StrEnum):
    """Why a call was not executed."""

    CONNECTION = "connection"
    TOO_MANY_CLIENTS = "too-many-clients"
    AUTHENTICATION = "authentication"
    NO_PERMISSION = "no-permission"
    READONLY = "readonly"
    LOADING = "loading"
    BUSY = "busy"
    OUT_OF_MEMORY = "out-of-memory"
    MISCONF = "misconf"
    NO_REPLICAS = "no-replicas"
    MASTER_DOWN = "master-down"
    CLUSTER_DOWN = "cluster-down"
    REDIRECTED = "redirected"
    NO_SCRIPT = "no-script"
    UNSUPPORTED_SERVER = "unsupported-server"
    SCORE_LIMIT = "score-limit"
    WRONG_TYPE = "wrong-type"
    INVALID_ID = "invalid-id"
    NOT_STARTED = "not-started"
    START_REFUSED = "start-refused"


class QueueError(Exception):
    """A call on a queue failed."""


class NotExecuted(QueueError):
    """The call had no effect: once the reason is gone it is safe to repeat.

    `reason` is a `Reason`, `str(error)` the whole story in one line.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class OutcomeUnknown(QueueError):
    """The request was handed over and no answer came that settles it: it ran once, or never.

    A dequeue that ends like this may have taken an id with it.
    """


class WrongKeyType(NotExecuted):
    """The key holds a value of another type than the storage uses.

    `key` is the Redis key, `expected` the type that the storage uses, `found` the type that is
    there (None where the server did not tell), `cure` what to do.
    """

    def __init__(self, key: str, expected: str, found: str | None, cure: str) -> None:
        there = f"a {found}" if found else "something else"
        super().__init__(
            Reason.WRONG_TYPE, f"key {key!r} holds {there}, expected a {expected}: {cure}"
        )
        self.key = key
        self.expected = expected
        self.found = found
        self.cure = cure


class InvalidId(NotExecuted, ValueError):
    """The id cannot be a queue's: it is empty, or would come back as another text."""

    def __init__(self, message: str) -> None:
        super().__init__(Reason.INVALID_ID, message)


class NotStarted(NotExecuted):
    """The provider was used before start() or after stop()."""

    def __init__(self) -> None:
        super().__init__(Reason.NOT_STARTED, "the provider is not started: call start() first")


class StartRefused(NotExecuted):
    """At least one queue could not be made ready, and the provider is not started.

    `errors` maps the key of each refused queue to its error. The other queues are ready.
    """

    def __init__(self, errors: Mapping[str, QueueError]) -> None:
        super().__init__(Reason.START_REFUSED, _each(errors))
        self.errors = dict(errors)


class StartUnknown(OutcomeUnknown):
    """As `StartRefused`, but of at least one queue it is not known whether it was made ready.

    Repeating start() is safe: what is ready already is left as it is.
    """

    def __init__(self, errors: Mapping[str, QueueError]) -> None:
        super().__init__(_each(errors))
        self.errors = dict(errors)


def _each(errors: Mapping[str, QueueError]) -> str:
    return "; ".join(f"{key}: {error}" for key, error in errors.items())

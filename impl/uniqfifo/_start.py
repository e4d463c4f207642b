"""What start() makes of what its queues meet: one error, and a warning."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from uniqfifo.errors import (
    NotExecuted,
    OutcomeUnknown,
    QueueError,
    Reason,
    StartRefused,
    StartUnknown,
)

_log = logging.getLogger("uniqfifo")


class StartFailures:
    """Collects one error per key, so that every queue is tried before start() fails."""

    def __init__(self) -> None:
        self._errors: dict[str, QueueError] = {}
        self._tried = 0

    @contextmanager
    def of(self, key: str) -> Iterator[None]:
        """Note the error of making this key ready.

        Without a server for the first one nothing has been done, and the rest need no try.
        """
        self._tried += 1
        try:
            yield
        except QueueError as error:
            if self._tried == 1 and _is_without_server(error):
                raise
            self._errors[key] = error

    def raise_any(self) -> None:
        """Raise one error that names every key that is not ready, if there is any."""
        if any(isinstance(error, OutcomeUnknown) for error in self._errors.values()):
            raise StartUnknown(self._errors)
        if self._errors:
            raise StartRefused(self._errors)


def _is_without_server(error: QueueError) -> bool:
    return isinstance(error, NotExecuted) and error.reason is Reason.CONNECTION


def warn_of_eviction(policies: Mapping[str, str | None]) -> None:
    """Log one warning for each policy by which a server may evict queues, by their keys.

    In a cluster each key has its own server, and that its own policy. None is harmless.
    """
    for policy in dict.fromkeys(filter(None, policies.values())):
        _log.warning(
            "maxmemory-policy is %s: when memory runs short, the server may evict a whole queue "
            "(%s), and its ids are gone. Choose noeviction or a volatile-* policy: queues have no "
            "time to live.",
            policy,
            ", ".join(key for key, found in policies.items() if found == policy),
        )

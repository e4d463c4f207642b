"""Implementations whose faults a run must find: if it does not, it proves nothing."""

from __future__ import annotations

from typing import Any

import redis

from tests import published
from tests.robustness.queues import QUEUES
from uniqfifo import OutcomeUnknown


class Wrong:
    """A queue with the errors of the client library put into words that a log understands."""

    def __init__(self, client: Any, key: str, storage: str) -> None:
        self.client = client
        self.key = key
        self.storage = storage
        self.prepare()

    def prepare(self) -> None:
        pass

    def make_ready(self) -> None:
        pass

    def enqueue(self, id: str) -> bool:
        try:
            return bool(self.do_enqueue(id))
        except redis.RedisError as error:
            raise OutcomeUnknown(str(error)) from error

    def dequeue(self) -> str | None:
        try:
            taken: bytes | None = self.do_dequeue()
        except redis.RedisError as error:
            raise OutcomeUnknown(str(error)) from error
        return None if taken is None else taken.decode()

    def do_enqueue(self, id: str) -> bool:
        raise NotImplementedError

    def do_dequeue(self) -> Any:
        return self.client.lpop(self.key)


class Legacy(Wrong):
    """The algorithm of the hosts that the LIST design replaced: separate commands."""

    def do_enqueue(self, id: str) -> bool:
        if self.client.linsert(self.key, "BEFORE", id, id) <= 0:
            self.client.rpush(self.key, id)
            return True
        self.client.lrem(self.key, 1, id)
        return False


class Retrying(Wrong):
    """The published scripts, through the client library, which sends again what is not answered."""

    def prepare(self) -> None:
        is_list = self.storage == "list"
        self._enqueue = self.client.register_script(
            published.LIST_ENQUEUE if is_list else published.ZSET_ENQUEUE
        )
        self._dequeue = self.client.register_script(published.ZSET_DEQUEUE)
        self._migrate = self.client.register_script(published.MIGRATE)

    def make_ready(self) -> None:
        if self.storage != "list":
            self._migrate(keys=[self.key])

    def do_enqueue(self, id: str) -> bool:
        return bool(self._enqueue(keys=[self.key], args=[id]))

    def do_dequeue(self) -> Any:
        return super().do_dequeue() if self.storage == "list" else self._dequeue(keys=[self.key])


IMPLEMENTATIONS = {"legacy": Legacy, "retrying": Retrying}

PLANS: dict[str, dict[str, Any]] = {
    "legacy": {"queues": dict.fromkeys(QUEUES, "list"), "ids": 1, "lifetime": 0.02, "pause": 0.0},
    "retrying": {},
}
"""What their hosts do otherwise than ours, so that the fault can show."""

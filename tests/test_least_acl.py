"""The least permissions under which each operation works: all of these, and none more."""

from __future__ import annotations

import pytest
import redis

from tests.faults import HAVE_ACL, refused, user
from uniqfifo import Reason, UniqueQueue
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.servers(*HAVE_ACL)

SCRIPT = ("eval", "evalsha")
LEAST: dict[tuple[str, str], tuple[str, ...]] = {
    ("list", "enqueue"): (*SCRIPT, "linsert", "rpush", "lrem"),
    ("list", "dequeue"): ("lpop",),
    ("list", "make_ready"): ("type",),
    ("zset", "enqueue"): (*SCRIPT, "time", "zadd"),
    ("zset", "dequeue"): (*SCRIPT, "zrange", "zrem"),
    ("zset", "make_ready"): (*SCRIPT, "time", "type", "lrange", "del", "zadd"),
    ("zset-strict", "enqueue"): (*SCRIPT, "time", "zrevrange", "zadd"),
}
CASES = [
    (storage, operation, without)
    for (storage, operation), commands in LEAST.items()
    for without in commands
]


def put(client: redis.Redis, key: str, storage: str, operation: str) -> None:
    if storage == "list" or operation == "make_ready":
        client.rpush(key, "z", "a")
    else:
        client.zadd(key, {"z": 1, "a": 2})


def call(client: redis.Redis, key: str, storage: str, operation: str) -> object:
    queue = UniqueQueue(client, key, storage)
    return queue.enqueue("new") if operation == "enqueue" else getattr(queue, operation)()


def allow(commands: tuple[str, ...]) -> list[str]:
    return ["-@all", *(f"+{command}" for command in commands)]


@pytest.mark.parametrize(("storage", "operation"), LEAST)
def test_these_permissions_are_enough(
    server: Server, client: redis.Redis, prefix: str, storage: str, operation: str
) -> None:
    put(client, prefix, storage, operation)
    client.script_flush()  # so that EVALSHA and EVAL both run
    answers = {"enqueue": (True, False), "dequeue": ("z", "a"), "make_ready": (None, None)}
    with user(server, "worker", *allow(LEAST[storage, operation])) as limited:
        for answer in answers[operation]:
            assert call(limited, prefix, storage, operation) == answer


@pytest.mark.parametrize(("storage", "operation", "without"), CASES)
def test_each_of_them_is_needed(
    server: Server, client: redis.Redis, prefix: str, storage: str, operation: str, without: str
) -> None:
    put(client, prefix, storage, operation)
    client.script_flush()
    commands = tuple(name for name in LEAST[storage, operation] if name != without)
    with (
        user(server, "worker", *allow(commands)) as limited,
        refused(client, prefix, Reason.NO_PERMISSION),
    ):
        call(limited, prefix, storage, operation)


@pytest.mark.parametrize("storage", ["list", "zset", "zset-strict"])
def test_a_key_that_the_user_may_not_touch_is_left_alone(
    server: Server, client: redis.Redis, prefix: str, storage: str
) -> None:
    put(client, prefix, storage, "enqueue")
    with user(server, "worker", "+@all", "resetkeys", f"~{prefix}-mine") as limited:
        for operation in ("enqueue", "dequeue", "make_ready"):
            with refused(client, prefix, Reason.NO_PERMISSION):
                call(limited, prefix, storage, operation)
        assert call(limited, f"{prefix}-mine", storage, "enqueue") is True

"""What `impl/OPERATIONS.md` tells an operator to set is enough."""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

import uniqfifo.asyncio
from tests import test_cli
from tests.cluster import move_slot, owner_of, start_cluster
from tests.faults import HAVE_ACL
from tests.proxy import LOOPBACK
from uniqfifo import NotExecuted, QueueType, Reason, RedisQueueProvider, StartRefused, UniqueQueue
from uniqfifo_spec.conformance.spawn import Server

pytestmark = [pytest.mark.once, pytest.mark.servers(*HAVE_ACL)]

ROOT = Path(__file__).parents[1]
GUIDE = (ROOT / "impl" / "OPERATIONS.md").read_text("utf-8")
USERS: dict[str, str] = dict(re.findall(r"^ACL SETUSER (\S+) (.+)$", GUIDE, re.M))
STORAGES = {"list-host": "list", "zset-host": "zset", "strict-host": "zset-strict"}


def test_there_is_a_user_for_each_storage() -> None:
    assert USERS.keys() == {*STORAGES, "operator"}


def test_the_operator_can_inspect_and_move(server: Server, client: redis.Redis) -> None:
    client.execute_command("ACL", "SETUSER", "operator", "reset", *USERS["operator"].split())
    client.rpush("app-events", "a", "b", "a")
    url = server.url.replace("redis://", "redis://operator:secret@")
    try:
        for command in ("inspect", "migrate", "inspect", "rollback"):
            done = test_cli.uniqfifo(command, url, "app")
            assert (done.returncode, done.stderr) == (0, ""), done.stdout
            assert "unknown" not in done.stdout
        assert client.lrange("app-events", 0, -1) == [b"a", b"b"]
    finally:
        client.execute_command("ACL", "DELUSER", "operator")
        client.delete("app-events")


@pytest.mark.parametrize("name", STORAGES)
def test_the_least_user_can_do_all_that_a_host_does(
    server: Server, client: redis.Redis, name: str
) -> None:
    client.execute_command("ACL", "SETUSER", name, "reset", *USERS[name].split())
    client.rpush("app-events", "old")
    try:
        with (
            server.client(username=name, password="secret") as limited,
            RedisQueueProvider(limited, "app", STORAGES[name]) as provider,
        ):
            assert provider.dequeue_work(QueueType.EVENT) == "old"
            for queue in QueueType:
                assert provider.queue_work("a", queue) is True
                assert provider.queue_work("a", queue) is False
                assert provider.dequeue_work(queue) == "a"
                assert provider.dequeue_work(queue) is None
    finally:
        client.execute_command("ACL", "DELUSER", name)
        client.delete(*(queue.key("app") for queue in QueueType))


@pytest.mark.servers("redis-6.2", "redis-8.2", "valkey-9.1")
def test_in_a_cluster_three_more_permissions_are_enough(binary: str) -> None:
    more = "+command +cluster|slots +asking"
    assert f"A client of a cluster needs\n`{more}`" in GUIDE
    rules = [*USERS["zset-host"].split(), *more.split()]
    with ExitStack() as stack:
        nodes = start_cluster(stack, binary)
        for node in nodes:
            with node.client() as admin:
                admin.execute_command("ACL", "SETUSER", "worker", "reset", *rules)
        limited = stack.enter_context(
            redis.RedisCluster(
                LOOPBACK, nodes[0].port, protocol=2, username="worker", password="secret"
            )
        )
        queue = UniqueQueue(limited, "app-events")
        source = owner_of("app-events", nodes)
        target = nodes[nodes.index(source) - 1]
        assert queue.enqueue("a")
        slot = limited.keyslot("app-events")
        for step in move_slot(slot, source, target):
            assert queue.enqueue(step) is True
        assert [queue.dequeue() for _ in range(2)] == ["a", "open"]


@pytest.mark.servers("redis-6.2", "redis-8.2", "valkey-9.1")
def test_a_cluster_that_lets_nobody_in_says_why(binary: str) -> None:
    rules = USERS["zset-host"].split()
    with ExitStack() as stack:
        nodes = start_cluster(stack, binary)
        for node in nodes:
            with node.client() as admin:
                admin.execute_command("ACL", "SETUSER", "worker", "reset", *rules)
        for password, reason in (
            ("wrong", Reason.AUTHENTICATION),
            ("secret", Reason.NO_PERMISSION),  # not for CLUSTER SLOTS
        ):
            url = f"redis+cluster://worker:{password}@{LOOPBACK}:{nodes[0].port}"
            with pytest.raises(NotExecuted) as caught:
                RedisQueueProvider(url, "app").start()
            assert caught.value.reason is reason, caught.value
            with pytest.raises(StartRefused) as refused:
                asyncio.run(uniqfifo.asyncio.RedisQueueProvider(url, "app").start())
            assert {error.reason for error in refused.value.errors.values()} == {reason}


def test_every_file_that_it_names_is_there() -> None:
    for path in re.findall(r"\]\(([^)]+)\)", GUIDE):
        assert (ROOT / "impl" / path).resolve().exists(), path
    for path in re.findall(r"`python (\S+)`", GUIDE):
        assert (ROOT / path).exists(), path

"""start() warns of a server that may evict a whole queue, and is silent where it cannot know."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import fakeredis
import pytest

import uniqfifo.asyncio
from tests.cluster import owner_of, start_cluster
from tests.faults import ALL, HAVE_ACL, RUN_ZSET, since, user
from tests.proxy import LOOPBACK, Cut, Proxy
from uniqfifo import QueueType, RedisQueueProvider, Storage, scripts
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.targets import Awaited

LIMIT = 100_000_000
EVICTING = ("--maxmemory", f"{LIMIT}", "--maxmemory-policy", "allkeys-lru")
EVICTS = [("allkeys-lru", LIMIT), ("allkeys-random", LIMIT)]
HARMLESS = [("noeviction", LIMIT), ("volatile-lru", LIMIT), ("allkeys-lru", 0)]


@pytest.fixture(params=["sync", "asyncio"])
def warnings(
    request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture
) -> Callable[..., list[str]]:
    """What start() of a provider with these arguments logs; the provider works then."""

    def of(*arguments: Any) -> list[str]:
        caplog.clear()
        provider: Any = RedisQueueProvider(*arguments)
        if request.param == "asyncio":
            provider = Awaited(uniqfifo.asyncio.RedisQueueProvider(*arguments))
        provider.start()
        assert provider.queue_work("a", QueueType.EVENT)
        assert provider.dequeue_work(QueueType.EVENT) == "a"
        provider.stop()
        assert {(each.name, each.levelname) for each in caplog.records} <= {("uniqfifo", "WARNING")}
        return [each.getMessage() for each in caplog.records]

    return of


@pytest.mark.servers(*ALL)
def test_a_policy_for_all_keys_is_named_once(
    private_server: Callable[..., Server], server_name: str, warnings: Callable[..., list[str]]
) -> None:
    server = private_server(server_name)
    told = server_name in since("3.2")  # INFO says nothing of it before
    with server.client() as judge:
        for storage in Storage if server_name in RUN_ZSET else (Storage.LIST,):
            for policy, limit in EVICTS + HARMLESS:
                judge.config_set("maxmemory-policy", policy)
                judge.config_set("maxmemory", limit)
                logged = warnings(server.url, "app", storage)
                if told and (policy, limit) in EVICTS:
                    assert [message.split(":")[0] for message in logged] == [
                        f"maxmemory-policy is {policy}"
                    ]
                    assert "evict a whole queue (app-workflows, app-events, app-index)" in logged[0]
                    assert "noeviction" in logged[0]
                else:
                    assert logged == []


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("storage", [Storage.LIST, Storage.ZSET])
def test_a_user_who_may_not_ask_starts_in_silence(
    private_server: Callable[..., Server],
    server_name: str,
    warnings: Callable[..., list[str]],
    storage: Storage,
) -> None:
    server = private_server(server_name, *EVICTING)
    url = f"redis://worker:secret@{LOOPBACK}:{server.port}/0"
    with user(server, "worker", "+@all"):
        assert len(warnings(url, "app", storage)) == 1
    with user(server, "worker", "+@all", "-info"):
        assert warnings(url, "app", storage) == []


@pytest.mark.servers("redis-6.2", "valkey-9.1")
def test_an_answer_that_is_lost_is_no_error(
    private_server: Callable[..., Server], server_name: str, warnings: Callable[..., list[str]]
) -> None:
    server = private_server(server_name, *EVICTING)
    with server.client() as judge, Proxy() as proxy:
        judge.script_load(scripts.EVICTION.text)
        proxy.target = server.port
        url = f"redis://{LOOPBACK}:{proxy.port}/0"
        proxy.spoil(scripts.EVICTION.sha.encode(), Cut(0), times=2)
        (warning,) = warnings(url, "app")
        assert "(app-index)" in warning  # the third queue
        proxy.spoil(scripts.EVICTION.sha.encode(), Cut(0), times=3)
        assert warnings(url, "app") == []


@pytest.mark.servers("redis-6.2", "redis-8.2")
def test_in_a_cluster_each_warning_comes_once(
    binary: str, warnings: Callable[..., list[str]]
) -> None:
    keys = [queue.key("queue") for queue in QueueType]
    with ExitStack() as stack:
        nodes = start_cluster(stack, binary)
        url = f"redis+cluster://{LOOPBACK}:{nodes[0].port}"
        owners = [owner_of(key, nodes) for key in keys]
        assert len({owner.port for owner in owners}) == 3
        for owner in owners:
            set_policy(owner, "allkeys-lru")
        assert len(warnings(url, "queue")) == 1
        set_policy(owners[0], "allkeys-random")
        first, second = warnings(url, "queue")
        assert "allkeys-random" in first and f"({keys[0]})" in first
        assert "allkeys-lru" in second and f"({keys[1]}, {keys[2]})" in second
        for owner in owners:
            set_policy(owner, "noeviction")
        assert warnings(url, "queue") == []


def set_policy(server: Server, policy: str) -> None:
    with server.client() as client:
        client.config_set("maxmemory", LIMIT)
        client.config_set("maxmemory-policy", policy)


def test_fakeredis_has_nothing_to_tell(caplog: pytest.LogCaptureFixture) -> None:
    with RedisQueueProvider(fakeredis.FakeRedis(), "app"):
        assert caplog.records == []


@pytest.mark.once
@pytest.mark.servers("valkey-9.1")
def test_a_check_which_starts_a_thousand_times_says_it_once(
    private_server: Callable[..., Server], server_name: str
) -> None:
    url = private_server(server_name, *EVICTING).url
    command = [sys.executable, "-c", "from uniqfifo.cli import main; main()", "check", url]
    done = subprocess.run(
        [*command, "--storage", "list"], capture_output=True, text=True, check=True
    )
    assert done.stderr.count("maxmemory-policy is allkeys-lru") == 1

"""What the example ports make of refusals and of lost answers."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests import example_ports
from tests.example_ports import FOLDER, LUA, started
from tests.faults import memory_limit, snapshot, start_replica, user
from uniqfifo_spec.conformance.proxy import swallowing
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.targets import Answer, Failed

pytestmark = pytest.mark.once

STORAGES = ("list", "zset", "zset-strict")


def kind(answer: Answer) -> str:
    assert isinstance(answer, Failed), answer
    return answer.kind


@pytest.mark.servers("redis-6.2", "valkey-9.1")
def test_a_refused_call_is_not_executed(
    port: str, server_name: str, private_server: Callable[..., Server]
) -> None:
    primary, replica = start_replica(private_server, server_name)
    # A user who may not add, and who is named like an error: newer servers quote the name.
    url = f"redis://WRONGTYPE:secret@127.0.0.1:{primary.port}/0"
    with primary.client() as judge, user(primary, "WRONGTYPE", "+@all", "-zadd", "-lrem"):
        for storage in STORAGES:
            key = f"{storage}-workflows"
            # An empty queue on a server that may not write: no false "nothing".
            with started(port, replica.url, storage, storage) as reader:
                assert kind(reader.dequeue("workflow")) == "not-executed"
            with started(port, primary.url, storage, storage) as host:
                assert host.enqueue("workflow", b"a") is True
                before = snapshot(judge, key)
                with memory_limit(judge):
                    assert kind(host.enqueue("workflow", b"b")) == "not-executed"
            with started(port, url, storage, storage) as host:
                assert kind(host.enqueue("workflow", b"b")) == "not-executed"
                assert snapshot(judge, key) == before
                assert host.dequeue("workflow") == b"a"


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize(
    ("storage", "how"), [("list", "closes"), ("zset", "closes"), ("zset", "silent")]
)
def test_a_dequeue_whose_answer_is_lost_is_unknown_and_takes_one_id(
    port: str, server: Server, prefix: str, storage: str, how: str
) -> None:
    with swallowing(server.url, how) as proxy, started(port, proxy.url, prefix, storage) as host:
        assert [host.enqueue("workflow", id) for id in (b"a", b"b", b"c")] == [True] * 3
        assert host.dequeue("workflow") == b"a"
        proxy.swallow()
        assert kind(host.dequeue("workflow")) == "outcome-unknown"
        # The answer that got lost does not reach a later call.
        assert [host.dequeue("workflow"), host.dequeue("workflow")] == [b"c", None]
        assert proxy.swallowed == 1
        proxy.swallow()
        assert kind(host.start()) == "outcome-unknown"
        assert kind(host.dequeue("workflow")) == "not-started"
        assert host.start() is None


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize(
    ("port", "option"),
    [
        ("ruby", "reconnect_attempts: 0, "),
        ("node", "retryStrategy: null, autoResendUnfulfilledCommands: false, "),
    ],
    indirect=["port"],
)
def test_a_client_library_that_is_left_alone_sends_a_dequeue_twice(
    port: str, server: Server, prefix: str, tmp_path: Path, option: str
) -> None:
    """So the test above can fail, and a port without these options is wrong."""
    copy = Path(shutil.copytree(FOLDER, tmp_path / "ports"))
    file = copy / example_ports.file(port).relative_to(FOLDER)
    text = file.read_text("utf-8")
    assert text.count(option) == 1
    file.write_text(text.replace(option, ""), "utf-8")
    command = f"env UNIQFIFO_LUA={LUA} {port} {file}"
    with (
        swallowing(server.url, "closes") as proxy,
        started(port, proxy.url, prefix, "list", command=command) as host,
    ):
        assert [host.enqueue("workflow", id) for id in (b"a", b"b")] == [True] * 2
        proxy.swallow()
        assert host.dequeue("workflow") == b"b"

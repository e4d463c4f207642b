"""`uniqfifo migrate` and `rollback`: what they do to three keys, say of it, and exit with."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis
from click.testing import CliRunner

from tests.cluster import owner_of, start_cluster
from tests.faults import HAVE_ACL, memory_limit, snapshot, start_replica, user
from tests.proxy import LOOPBACK
from tests.test_cli import uniqfifo
from tests.test_inspect import as_json, inspect, keys_of
from tests.test_migration import is_in_order, put, shuffled
from uniqfifo import NotExecuted, Reason, _console, move_cli
from uniqfifo.connect import connect
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once

COMMANDS = ("migrate", "rollback")


def move(command: str, url: str, prefix: str, code: int) -> list[dict[str, Any]]:
    result = as_json(getattr(move_cli, command), url, prefix, code)
    assert result["done"] is (code == 0)
    return [{name: row[name] for name in row if name != "key"} for row in result["keys"]]


def moved(count: int) -> dict[str, Any]:
    return {"outcome": "done", "moved": count, "message": None}


def test_there_and_back_and_there_again(server: Server, client: redis.Redis, prefix: str) -> None:
    workflows, events, index = keys_of(prefix)
    ids = shuffled(100_000)
    put(client, workflows, ids)
    client.rpush(events, "z", "a", "z")
    assert move("migrate", server.url, prefix, 0) == [moved(100_000), moved(2), moved(0)]
    assert is_in_order(client, workflows, ids) and is_in_order(client, events, [b"z", b"a"])
    result = inspect(server.url, prefix, 0)
    assert (result["usable_by"], result["notes"]) == (["zset", "zset-strict"], [])
    assert [facts["ahead_us"] for facts in result["keys"]] == [0, 0, None]
    assert move("rollback", server.url, prefix, 0) == [moved(100_000), moved(2), moved(0)]
    assert client.lrange(workflows, 0, -1) == ids
    assert client.lrange(events, 0, -1) == [b"z", b"a"]
    assert inspect(server.url, prefix, 0)["usable_by"] == ["list"]
    assert move("migrate", server.url, prefix, 0) == [moved(100_000), moved(2), moved(0)]
    assert is_in_order(client, workflows, ids)
    assert not client.exists(index)


@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_what_a_person_sees(server: Server, client: redis.Redis, prefix: str) -> None:
    workflows, events, index = keys_of(prefix)
    put(client, workflows, shuffled(1_234))
    client.rpush(events, "a")
    client.set(index, "text")
    for command, into in (("migrate", "ZSET"), ("rollback", "LIST")):
        for counted in ("1,234 ids moved, now", "nothing to move: it is absent, or"):
            done = uniqfifo(command, server.url, prefix)
            assert (done.returncode, done.stderr) == (1, "")
            assert max(map(len, done.stdout.splitlines())) <= 80
            words = " ".join(done.stdout.split())
            assert f"{workflows}: {counted} a {into}" in words
            assert ("1 id moved, now" in words) is ("1,234 ids" in counted)
            assert f"{index}: refused, untouched: key '{index}' holds a string" in words
    assert client.get(index) == b"text"


@pytest.mark.parametrize("command", COMMANDS)
def test_one_that_is_refused_does_not_keep_the_others_from_being_done(
    server: Server, client: redis.Redis, prefix: str, command: str
) -> None:
    workflows, events, index = keys_of(prefix)
    client.set(workflows, "text", ex=1_000)
    for key in (events, index):
        client.rpush(key, "b", "a") if command == "migrate" else client.zadd(key, {"b": 1, "a": 2})
    before = snapshot(client, workflows)
    refused, *done = move(command, server.url, prefix, 1)
    assert done == [moved(2), moved(2)]
    assert (refused["outcome"], refused["moved"]) == ("refused", None)
    assert f"{workflows!r} holds a string" in refused["message"]
    assert snapshot(client, workflows) == before


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.servers("redis-5.0", "redis-6.2", "valkey-9.1")
def test_at_the_memory_limit_nothing_is_lost(
    server: Server, client: redis.Redis, prefix: str, command: str
) -> None:
    ids = [b"b", b"a"]
    for key in keys_of(prefix):
        put(client, key, ids)
    if command == "rollback":
        move("migrate", server.url, prefix, 0)
    before = [snapshot(client, key) for key in keys_of(prefix)]
    with memory_limit(client):
        rows = move(command, server.url, prefix, 1)
    assert [snapshot(client, key) for key in keys_of(prefix)] == before
    assert all(row["outcome"] == "refused" and "OOM" in row["message"] for row in rows)


@pytest.mark.servers(*HAVE_ACL)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_user_who_may_only_read_is_refused(
    server: Server, client: redis.Redis, prefix: str, command: str
) -> None:
    client.rpush(keys_of(prefix)[0], "a")
    url = f"redis://reader:secret@{LOOPBACK}:{server.port}/0"
    with user(server, "reader", "+@read"):
        rows = move(command, url, prefix, 1)
    assert all("no-permission" in row["message"] for row in rows)


@pytest.mark.parametrize("command", ("inspect", *COMMANDS))
@pytest.mark.servers("redis-7.0")
def test_on_a_terminal_there_is_a_sign_of_life_whatever_the_key_is_called(
    server: Server, prefix: str, command: str
) -> None:
    hostile = f"{prefix}[/red]\x1b[31m"
    ours, theirs = pty.openpty()
    program = [sys.executable, "-c", "from uniqfifo.cli import main; main()"]
    done = subprocess.run(
        [*program, command, server.url, hostile],
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "80"},
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0, shown
    assert ("reading" if command == "inspect" else "moving") in shown
    assert b"[/red]\\x1b[31m" in done.stdout.replace(b"\n", b"") or command == "inspect"


# --- Time


@pytest.mark.servers("redis-7.0")
def test_an_answer_that_comes_too_late_is_unknown(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    ids = shuffled(300_000)
    put(client, keys_of(prefix)[0], ids)
    url = f"{server.url}?socket_timeout=0.05"
    first, *_ = move("migrate", url, prefix, 1)
    assert (first["outcome"], first["moved"]) == ("unknown", None)
    assert "may have been executed" in first["message"]
    assert is_in_order(client, keys_of(prefix)[0], ids)  # it was, and to repeat it is harmless
    assert move("migrate", server.url, prefix, 0) == [moved(0)] * 3


@pytest.mark.parametrize(
    ("query", "timeout"),
    [("", 600.0), ("?socket_timeout=7", 7.0), ("?socket_connect_timeout=7", 600.0)],
)
@pytest.mark.parametrize("command", COMMANDS)
def test_it_waits_for_long_unless_the_url_says_otherwise(
    command: str, query: str, timeout: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []

    def noted(url: str, **options: Any) -> Any:
        made.append(connect(url, **options))
        if len(made) == 1:  # the one that only looks whether somebody answers
            return made[0]
        raise NotExecuted(Reason.CONNECTION, "not now")

    monkeypatch.setattr(_console, "connect", noted)
    monkeypatch.setattr(move_cli, "_greet", lambda *_: None)
    arguments = [f"redis://127.0.0.1:1{query}", "app"]
    CliRunner().invoke(getattr(move_cli, command), arguments)
    _, client = made
    assert client.connection_pool.connection_kwargs["socket_timeout"] == timeout


# --- A cluster


@pytest.mark.servers("redis-6.2", "redis-8.2")
def test_in_a_cluster_each_key_is_found(binary: str) -> None:
    keys, ids = keys_of("queue"), [b"z", b"a", b"m"]
    with ExitStack() as stack:
        nodes = start_cluster(stack, binary)
        url = f"redis+cluster://{LOOPBACK}:{nodes[0].port}"
        owners = [owner_of(key, nodes) for key in keys]
        assert len({owner.port for owner in owners}) == 3
        clients = [stack.enter_context(owner.client()) for owner in owners]
        for client, key in zip(clients, keys, strict=True):
            client.rpush(key, *ids)
        facts = inspect(url, "queue", 0)["keys"]
        assert [(each["type"], each["pending"], each["head"]) for each in facts] == [
            ("list", 3, "z")
        ] * 3
        assert move("migrate", url, "queue", 0) == [moved(3)] * 3
        facts = inspect(url, "queue", 0)["keys"]
        assert [(each["type"], each["migrated"]) for each in facts] == [("zset", 3)] * 3
        assert move("rollback", url, "queue", 0) == [moved(3)] * 3
        for client, key in zip(clients, keys, strict=True):
            assert client.lrange(key, 0, -1) == ids
        # One node alone refers to the others, which is no answer.
        alone = inspect(f"redis://{LOOPBACK}:{nodes[0].port}", "queue", 3)
        assert any("MOVED" in note for note in alone["notes"])


# --- What is no server, or no arguments


def bad_input() -> Iterator[tuple[list[str], str]]:
    for command in ("inspect", *COMMANDS):
        yield [command], "Missing argument 'URL'"
        yield [command, "redis://127.0.0.1:1"], "Missing argument 'PREFIX'"
        yield [command, "redis://127.0.0.1:1", ""], "is empty"
        yield [command, "", "app"], "is empty"
        yield [command, "nonsense", "app"], "Redis URL must specify"
        yield [command, "redis://[", "app"], "Invalid IPv6"
        yield [command, "redis://127.0.0.1/0?colour=red", "app"], "does not know"
        yield [command, "redis+sentinel://127.0.0.1/service?colour=red", "app"], "does not know"
        yield [command, "redis://127.0.0.1/0?protocol=9", "app"], "the client refuses"
        yield [command, "redis://127.0.0.1/jobs", "app"], "the database in the URL is no number"
        yield [command, "redis://127.0.0.1:1", "app"], "127.0.0.1:1"
        yield [command, "redis://no-such-host.invalid", "app"], "no-such-host.invalid"
        yield [command, "redis+cluster://127.0.0.1:1", "app"], "not executed"
        yield [command, "redis+sentinel://127.0.0.1:1/service", "app", "--json"], "not executed"
        yield [command, "redis://127.0.0.1", "app", "more"], "unexpected extra argument"


@pytest.mark.parametrize(("arguments", "message"), [*bad_input()])
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = uniqfifo(*arguments)
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.startswith("uniqfifo: ")
    assert (done.stderr.count("\n"), done.stdout) == (1, "")


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_server_that_does_not_answer_is_not_waited_for(
    private_server: Callable[..., Server], server_name: str, command: str
) -> None:
    server = private_server(server_name)
    server.process.send_signal(signal.SIGSTOP)
    done = uniqfifo(command, server.url, "app")
    server.process.send_signal(signal.SIGCONT)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("uniqfifo: not executed, no connection: Timeout")
    assert done.stderr.count("\n") == 1


@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_a_replica_is_not_said_to_have_nothing_to_move(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    primary, replica = start_replica(private_server, server_name)
    for command in COMMANDS:
        done = uniqfifo(command, replica.url, "app")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == (
            f"uniqfifo: this is a replica: move the keys at its primary, 127.0.0.1:{primary.port}\n"
        )


@pytest.mark.servers("redis-5.0", "valkey-9.1")
@pytest.mark.parametrize("command", ["inspect", *COMMANDS])
def test_a_database_that_the_server_does_not_have(server: Server, command: str) -> None:
    done = uniqfifo(command, f"redis://{LOOPBACK}:{server.port}/99", "app")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1 and "DB index is out of range" in done.stderr


@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_a_server_that_wants_a_password(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    server = private_server(server_name, password="secret")
    for command in ("inspect", *COMMANDS):
        assert uniqfifo(command, server.url, "app").returncode == 0
        done = uniqfifo(command, f"redis://{LOOPBACK}:{server.port}", "app")
        assert (done.returncode, done.stderr.count("\n"), done.stdout) == (2, 1, "")
        assert "authentication" in done.stderr


def test_the_help_says_who_has_to_be_stopped_first() -> None:
    assert "Stop every host that uses the keys as LISTs" in uniqfifo("migrate", "--help").stdout
    words = " ".join(uniqfifo("rollback", "--help").stdout.split())
    assert "Stop every host that uses the keys as ZSETs first" in words
    assert "one that starts migrates the keys again" in words

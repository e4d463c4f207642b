"""Situations in which a server refuses a call, and what it means that nothing changed."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import repeat
from typing import Any

import pytest
import redis

from tests import servers
from tests.proxy import Proxy
from uniqfifo import NotExecuted, OutcomeUnknown, Reason, _once
from uniqfifo_spec.conformance.spawn import Server

HOSTILE_USERS = ("worker", "WRONGTYPE")
"""The second one is quoted by servers from 7.2 on, and must not be taken for an error code."""


def since(version: str, before: str = "") -> tuple[str, ...]:
    """The names of the servers from this Redis release on; every Valkey is later than 7.2."""
    low, high = _parts(version), _parts(before or "99")
    return tuple(
        name
        for name, source in servers.SOURCES.items()
        if low <= _parts(source.version.partition(" ")[2]) < high
    )


def _parts(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part)


ALL = since("2.8")
RUN_ZSET = since("3.2")
HAVE_ACL = since("6.0")
FREEZE_TIME = since("7.2")


def snapshot(judge: redis.Redis, key: str) -> tuple[bytes | None, bool]:
    """What the key holds, byte for byte, and whether it has a time to live."""
    return judge.dump(key), judge.pttl(key) >= 0


@contextmanager
def refused(judge: redis.Redis, key: str, reason: Reason) -> Iterator[None]:
    """What is done inside must be refused for this reason and leave the key as it is."""
    before = snapshot(judge, key)
    with pytest.raises(NotExecuted) as caught:
        yield
    assert caught.value.reason is reason, caught.value
    assert snapshot(judge, key) == before


@contextmanager
def user(server: Server, name: str, *rules: str) -> Iterator[redis.Redis]:
    """A client that is logged in as a user with these ACL rules, and every key."""
    with server.client() as admin:
        admin.execute_command("ACL", "SETUSER", name, "reset", "on", ">secret", "~*", *rules)
        try:
            with server.client(username=name, password="secret") as client:
                yield client
        finally:
            admin.execute_command("ACL", "DELUSER", name)


@contextmanager
def memory_limit(judge: redis.Redis, spare: int = -100_000) -> Iterator[None]:
    """The server may use what it uses now and `spare` bytes more; nothing is evicted."""
    judge.config_set("maxmemory-policy", "noeviction")
    judge.config_set("maxmemory", judge.info("memory")["used_memory"] + spare)
    try:
        yield
    finally:
        judge.config_set("maxmemory", 0)


@contextmanager
def endless_script(server: Server) -> Iterator[None]:
    """Meanwhile the server runs a script of somebody else, and says that it is busy."""

    def run() -> None:
        with server.client() as client, suppress(redis.ResponseError):  # it is killed
            client.eval("while true do end", 0)

    thread = threading.Thread(target=run)
    thread.start()
    with server.client() as client:
        with suppress(redis.ResponseError):
            while client.ping():
                time.sleep(0.01)
        yield
        client.script_kill()
    thread.join()


@contextmanager
def failing_snapshots(server: Server) -> Iterator[None]:
    """Meanwhile the server cannot save, so it refuses to write."""

    def save(status: str) -> None:
        client.bgsave(schedule=False)
        deadline = time.monotonic() + 10
        while client.info("persistence")["rdb_last_bgsave_status"] != status:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    blocked = server.directory / "dump.rdb"
    blocked.mkdir()
    with server.client() as client:
        client.config_set("save", "3600 1")
        save("err")
        yield
        blocked.rmdir()
        save("ok")


def slow_log(count: int) -> bytes:
    """Commands for an append-only file with which a server is long in loading it."""

    def command(*words: bytes) -> bytes:
        sized = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
        return b"*%d\r\n%b" % (len(words), b"".join(sized))

    return command(b"SELECT", b"0") + command(b"EVAL", b"for i = 1, 2000 do end", b"0") * count


def start_replica(private_server: Callable[..., Server], name: str) -> tuple[Server, Server]:
    """A primary, and a replica that follows it."""
    primary = private_server(name)
    with primary.client() as source, suppress(redis.ResponseError):  # 2.8.17 has no such delay
        source.config_set("repl-diskless-sync-delay", 0)
    replica = private_server(name, "--slaveof", "127.0.0.1", str(primary.port))
    with primary.client() as source, replica.client() as copy:
        await_copy(source, copy)
    return primary, replica


def await_copy(source: redis.Redis, copy: redis.Redis) -> None:
    """Wait until the replica has what its primary was told so far."""
    mark = b"%d" % time.monotonic_ns()
    source.set("mark", mark)
    deadline = time.monotonic() + 20
    while copy.get("mark") != mark:
        assert time.monotonic() < deadline, copy.info("replication")
        time.sleep(0.01)


def await_promotion(new: Server, queue: Any, *meanwhile: Reason) -> None:
    """Ask for the same thing, with right answers or right refusals, until the new primary answers.

    Meanwhile there may be no connection, one to who is no primary any more, and these reasons.
    """
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        try:
            assert queue.enqueue("a") is False
            with new.client() as client, suppress(redis.RedisError):
                if client.info("replication")["role"] == "master":
                    return
        except NotExecuted as refused:
            assert refused.reason in {Reason.CONNECTION, Reason.READONLY, *meanwhile}
        except OutcomeUnknown:
            pass  # the connection broke while it waited
        time.sleep(0.02)
    raise AssertionError(new.log())


@contextmanager
def patient() -> Iterator[None]:
    """Calls go on trying for 20 seconds: what is late on a busy machine is not missed then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_once, "_PAUSES", (*_once._PAUSES, *repeat(0.2, 99)))
        patch.setattr(_once, "_PATIENCE", 20.0)
        yield


@contextmanager
def away(proxy: Proxy, seconds: float = 0.3) -> Iterator[None]:
    """The server behind the proxy is away from now on, and back after so many seconds."""
    with patient(), ExitStack() as stack:
        stack.enter_context(proxy.refusing())
        proxy.drop()
        back = threading.Timer(seconds, stack.close)
        back.start()
        yield
        back.join()

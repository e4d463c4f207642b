"""`uniqfifo inspect` reads, page by page, and needs no more than to read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import redis

from tests.conftest import FAKE
from tests.faults import HAVE_ACL, await_copy, since, snapshot, start_replica, user
from tests.test_cli import uniqfifo
from tests.test_inspect import inspect, keys_of, put_mix
from tests.test_migration import put, shuffled
from uniqfifo import _facts
from uniqfifo.connect import connect
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once


@pytest.mark.servers(*HAVE_ACL)
def test_what_is_not_permitted_is_unknown(server: Server, client: redis.Redis, prefix: str) -> None:
    put_mix(client, prefix)
    client.rename(keys_of(prefix)[0], keys_of(prefix)[2])
    url = f"redis://reader:secret@127.0.0.1:{server.port}/0"
    with user(server, "reader", "+@read", "+time", "-role"):
        assert "did not tell replica_of: NOPERM" in inspect(url, prefix, code=1)["notes"][-1]
    with user(server, "reader", "+@read", "+role", "-time"):
        result = inspect(url, prefix, code=1)
        assert [[*facts["unknown"]] for facts in result["keys"]] == [[], ["ahead"], []]
        assert any("did not tell ahead: NOPERM" in note for note in result["notes"])
    with user(server, "reader", "+@read", "+role", "-time", "-memory", "-lrange", "-zcount"):
        _, zset, list_ = inspect(url, prefix, code=1)["keys"]
        assert {*list_["unknown"]} == {"head", "copies", "memory"}
        assert {*zset["unknown"]} == {"migrated", "clocked", "ahead", "memory"}
        assert "unknown" in uniqfifo("inspect", url, prefix).stdout
    with user(server, "reader", "+@read", "+role", "-type"):
        result = inspect(url, prefix, code=3)
        assert (result["usable_by"], result["problems"]) == (None, [])
    with user(server, "reader", "+type"):
        client.rename(keys_of(prefix)[2], f"{prefix}-else")
        assert inspect(url, prefix, code=3)["problems"] == []  # there may be a time to live


def test_nothing_is_changed(server: Server, client: redis.Redis, prefix: str) -> None:
    put_mix(client, prefix)
    before = [snapshot(client, key) for key in keys_of(prefix)]
    writes = client.info("persistence")["rdb_changes_since_last_save"]
    inspect(server.url, prefix, code=1)
    assert [snapshot(client, key) for key in keys_of(prefix)] == before
    assert client.info("persistence")["rdb_changes_since_last_save"] == writes


@pytest.mark.servers("redis-5.0", "redis-8.2", "valkey-9.1")
def test_a_replica_will_do(server_name: str, private_server: Callable[..., Server]) -> None:
    primary, replica = start_replica(private_server, server_name)
    with primary.client() as source, replica.client() as copy:
        put_mix(source, "app")
        await_copy(source, copy)
    original, copied = (inspect(each.url, "app", code=1) for each in (primary, replica))
    assert not any("replica" in note for note in original["notes"])
    assert any("index were read from a replica of 127.0.0.1" in note for note in copied["notes"])
    there, here = original["keys"], copied["keys"]
    assert {facts.pop("replica_of") for facts in there} == {None}
    assert {facts.pop("replica_of") for facts in here} == {f"127.0.0.1:{primary.port}"}
    for facts in (*there, *here):
        assert (facts.pop("unknown"), facts.pop("memory")) is not None
        facts.pop("ahead_us")
    assert here == there


@pytest.mark.servers(*since("3.2", before="4.0"))
def test_a_server_that_cannot_tell_the_memory(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    put_mix(client, prefix)
    result = inspect(server.url, prefix, code=1)
    assert [[*facts["unknown"]] for facts in result["keys"]] == [["memory"], ["memory"], []]
    assert any("did not tell memory: unknown command" in note for note in result["notes"])


@pytest.mark.servers(*since("6.0"))
def test_the_protocol_of_the_url_does_not_show(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    put_mix(client, prefix)
    plain, other = (
        inspect(f"{server.url}{query}", prefix, code=1)["keys"]
        for query in ("", "?protocol=3&decode_responses=yes")
    )
    for facts in (*plain, *other):
        facts.pop("ahead_us")
    assert plain == other


@pytest.mark.parametrize("length", [999, 1_000, 1_001, 25_000])
@pytest.mark.servers(FAKE, "redis-2.8", "redis-5.0", "redis-7.0", "valkey-9.1")
def test_copies_are_counted_page_by_page(
    client: redis.Redis, prefix: str, length: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = shuffled(length)
    put(client, prefix, [*ids, ids[0], ids[-1], ids[0]])
    exchange, longest = _facts.exchange, 0

    def measured(*arguments: Any) -> Any:
        nonlocal longest
        reply = yield from exchange(*arguments)
        longest = max(longest, len(reply) if isinstance(reply, list) else 0)
        return reply

    monkeypatch.setattr(_facts, "exchange", measured)
    facts = _facts.look(client, prefix)
    assert (facts.pending, facts.copies, facts.head) == (length + 3, 3, ids[0])
    assert longest <= 1_000


@pytest.mark.servers("redis-7.0")
def test_a_list_that_vanishes_meanwhile_is_no_error(server: Server, prefix: str) -> None:
    """What was a LIST when its type was asked for may be drained, or migrated, a moment later."""
    with server.client() as client:
        client.rpush(prefix, "a")
        reader = _facts._Reader(connect(server.url), prefix)
        client.delete(prefix)
        reader._read_list()
        assert (reader.told, reader.unknown) == ({"pending": 0, "copies": 0}, {})
        client.zadd(prefix, {"a": 1})
        reader._read_list()
        assert {*reader.unknown} == {"pending", "head", "copies"}

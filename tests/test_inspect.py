"""`uniqfifo inspect`: what it says of three keys, and that it changes nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import click
import pytest
import redis
from click.testing import CliRunner

from tests.test_cli import uniqfifo
from uniqfifo import QueueType, UniqueQueue
from uniqfifo.inspect_cli import inspect_command
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once

HOUR = 3_600_000_000  # microseconds


def keys_of(prefix: str) -> tuple[str, str, str]:
    workflows, events, index = (queue.key(prefix) for queue in QueueType)
    return workflows, events, index


def now(client: redis.Redis) -> int:
    seconds, microseconds = client.time()
    return seconds * 1_000_000 + microseconds


def put_mix(client: redis.Redis, prefix: str) -> None:
    """A LIST with copies; a ZSET with migrated ids, one by the clock, one ahead of it; no key."""
    workflows, events, _ = keys_of(prefix)
    client.rpush(workflows, "z", "a", "z", "z", "a")
    clock = now(client)
    client.zadd(events, {"m": 1, "b": 3, "c": clock, "d": clock + HOUR})


def as_json(command: click.Command, url: str, prefix: str, code: int) -> dict[str, Any]:
    """What the command prints. In this process: a new one takes a second to start."""
    done = CliRunner().invoke(command, [url, prefix, "--json"])
    assert done.exit_code == code, done.output
    result: dict[str, Any] = json.loads(done.output, parse_constant=pytest.fail)
    assert result["prefix"] == prefix
    assert [row["key"] for row in result["keys"]] == [*keys_of(prefix)]
    return result


def inspect(url: str, prefix: str, code: int) -> dict[str, Any]:
    return as_json(inspect_command, url, prefix, code)


def test_every_fact_of_three_keys(server: Server, client: redis.Redis, prefix: str) -> None:
    put_mix(client, prefix)
    result = inspect(server.url, prefix, code=1)
    list_, zset, absent = result["keys"]
    for facts in (list_, zset):
        assert facts.pop("memory") > 0
    top, ahead = zset.pop("top"), zset.pop("ahead_us")
    assert top == client.zscore(keys_of(prefix)[1], "d")
    assert HOUR - 60_000_000 < ahead < HOUR
    nothing = {
        "replica_of": None,
        "copies": None,
        "ttl_ms": None,
        "head": None,
        "migrated": None,
        "clocked": None,
    }
    nothing |= {"unknown": {}}
    assert list_ == nothing | {
        **{"key": keys_of(prefix)[0], "type": "list", "usable_by": ["list"], "pending": 5},
        **{"copies": 3, "head": "z", "top": None, "ahead_us": None},
    }
    assert zset == nothing | {
        **{"key": keys_of(prefix)[1], "type": "zset", "usable_by": ["zset", "zset-strict"]},
        **{"pending": 4, "head": "m", "migrated": 2, "clocked": 2},
    }
    assert absent == nothing | {
        **{"key": keys_of(prefix)[2], "type": "none", "usable_by": ["list", "zset", "zset-strict"]},
        **{"pending": 0, "top": None, "ahead_us": None, "memory": None},
    }
    assert result["usable_by"] == []
    (mixed,) = result["problems"]
    assert "some keys are a LIST and some a ZSET" in mixed
    copies, overtaken = result["notes"]
    assert "3 further copies" in copies and "µs ahead of the server's clock" in overtaken


def test_a_table_that_fits_a_terminal(server: Server, client: redis.Redis, prefix: str) -> None:
    put_mix(client, prefix)
    done = uniqfifo("inspect", server.url, prefix)
    assert (done.returncode, done.stderr) == (1, "")
    assert max(map(len, done.stdout.splitlines())) <= 80
    cells = [[cell.strip() for cell in line.split("│")] for line in done.stdout.splitlines()]
    rows = {cell[1]: cell[2:-1] for cell in cells if len(cell) == 6 and cell[1]}
    assert rows["type"] == ["LIST", "ZSET", "absent"]
    assert rows["usable by"] == ["list", "zset, zset-strict", "any storage"]
    assert rows["pending ids"] == ["5", "4", "0"]
    assert rows["further copies"] == ["3", "-", "-"]
    assert rows["head"] == ["'z'", "'m'", "-"]
    assert rows["scores"] == ["-", "2 migrated", "-"]
    assert "time to live" not in rows
    assert "Wrong: some keys are a LIST" in done.stdout and "Note: " in done.stdout


PUT: dict[str, Callable[[redis.Redis, str], object]] = {
    "nothing": lambda client, key: None,
    "list": lambda client, key: client.rpush(key, "a"),
    "zset": lambda client, key: client.zadd(key, {"a": 1}),
    "string": lambda client, key: client.set(key, "a"),
    "hash": lambda client, key: client.hset(key, "a", "b"),
    "list that expires": lambda client, key: (client.rpush(key, "a"), client.expire(key, 100)),
    "zset that expires": lambda client, key: (client.zadd(key, {"a": 1}), client.expire(key, 100)),
}


@pytest.mark.servers("redis-7.0", "valkey-9.1")
@pytest.mark.parametrize(
    ("holding", "usable", "wrong"),
    [
        (("nothing", "nothing", "nothing"), ["list", "zset", "zset-strict"], ()),
        (("list", "nothing", "list"), ["list"], ()),
        (("zset", "zset", "nothing"), ["zset", "zset-strict"], ()),
        (("list", "nothing", "zset"), [], ("some keys are a LIST",)),
        (("nothing", "string", "hash"), [], ("holds a string; this is no", "holds a hash")),
        (("list", "list that expires", "list"), ["list"], ("has a time to live: in ",)),
        (("zset that expires", "list", "zset"), [], ("has a time to live", "some keys are")),
    ],
)
def test_what_is_wrong_decides_the_exit_code(
    server: Server,
    client: redis.Redis,
    prefix: str,
    holding: tuple[str, ...],
    usable: list[str],
    wrong: tuple[str, ...],
) -> None:
    for key, what in zip(keys_of(prefix), holding, strict=True):
        PUT[what](client, key)
    result = inspect(server.url, prefix, code=1 if wrong else 0)
    assert result["usable_by"] == usable
    for problem, words in zip(result["problems"], wrong, strict=True):
        assert words in problem


def test_what_it_says_of_a_score_ahead_of_the_clock_is_so(
    client: redis.Redis, prefix: str, server: Server
) -> None:
    client.zadd(keys_of(prefix)[1], {"ahead": now(client) + HOUR})
    (note,) = inspect(server.url, prefix, code=0)["notes"]
    assert "what zset hosts enqueue overtakes that id; zset-strict hosts keep the order" in note
    UniqueQueue(client, keys_of(prefix)[1], "zset").enqueue("overtakes")
    UniqueQueue(client, keys_of(prefix)[1], "zset-strict").enqueue("keeps")
    assert UniqueQueue(client, keys_of(prefix)[1]).peek(3) == ["overtakes", "ahead", "keeps"]


@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_scores_that_nobody_of_ours_assigned(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    for id, score in {"a": "-inf", "b": "0.5", "c": "1", "d": "+inf"}.items():
        client.execute_command("ZADD", keys_of(prefix)[0], score, id)
    result = inspect(server.url, prefix, code=0)
    facts = result["keys"][0]
    assert (facts["migrated"], facts["clocked"], facts["pending"]) == (1, 0, 4)
    assert (facts["top"], facts["ahead_us"]) == ("inf", "inf")
    assert any("zset-strict hosts cannot enqueue" in note for note in result["notes"])
    done = uniqfifo("inspect", server.url, prefix)
    assert "3 other" in done.stdout and done.stderr == ""


@pytest.mark.servers("redis-7.0")
def test_ids_and_keys_do_not_steer_the_terminal(
    server: Server, client: redis.Redis, prefix: str
) -> None:
    hostile = f"{prefix}[red]\x1b[31m"
    client.rpush(keys_of(hostile)[0], b"\x1b[2J[bold]")
    client.rpush(keys_of(hostile)[1], b"\xff\x00" + b"x" * 70_000)
    done = uniqfifo("inspect", server.url, hostile)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b" not in done.stdout
    assert "'\\x1b[2J[bold]'" in done.stdout and "'\\udcff\\x00xx" in done.stdout
    first, second, _ = inspect(server.url, hostile, code=0)["keys"]
    assert first["head"] == "\x1b[2J[bold]"
    assert [*second["head"]] == ["b64"]

"""The example ports speak the protocol to the letter: ids, unknown fields, errors, and the end."""

from __future__ import annotations

import json
import shlex
import subprocess
from typing import Any

import pytest
import redis

from tests import example_ports
from tests.example_ports import AWKWARD, started
from uniqfifo_spec.conformance.oracle import Operation
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.targets import Failed

pytestmark = pytest.mark.once

STORAGES = ("list", "zset", "zset-strict")
NOBODY = "redis://127.0.0.1:1/0"


def converse(port: str, *lines: dict[str, Any] | str) -> list[dict[str, Any]]:
    """Say all of this at once, end the input, and read all the answers."""
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    done = subprocess.run(
        shlex.split(example_ports.command(port)),
        input="".join(f"{text}\n" for text in texts).encode(),
        capture_output=True,
        timeout=20,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    return [json.loads(line) for line in done.stdout.decode().split("\n")[:-1]]


def hello(url: str, prefix: str, storage: str = "zset", **more: Any) -> dict[str, Any]:
    known = {"seq": 0, "op": "hello", "version": 1, "redis": url, "prefix": prefix}
    return {**known, "storage": storage, **more}


@pytest.mark.servers("redis-7.0")
def test_escaped_or_not_a_line_ends_at_its_line_feed(
    port: str, server: Server, prefix: str
) -> None:
    lines: list[str] = []
    for number, id in enumerate(AWKWARD, start=2):
        request = {"seq": number, "op": "enqueue", "queue": "event", "id": id, "more": {"id": 1}}
        lines += [json.dumps(request), json.dumps(request, ensure_ascii=False)]
    answers = converse(port, hello(server.url, prefix), {"seq": 1, "op": "start"}, *lines)
    assert [answer["added"] for answer in answers[2:]] == [True, False] * len(AWKWARD)


@pytest.mark.servers("redis-7.0")
def test_what_is_no_id_is_invalid(
    port: str, server: Server, client: redis.Redis, prefix: str
) -> None:
    wrong: list[Any] = ["", 7, 1.5, True, None]
    if port == "node":  # PHP does not even read a line with half a surrogate pair
        wrong.append("\ud800")
    requests = [{"seq": 2, "op": "enqueue", "queue": "index", "id": id} for id in wrong]
    answers = converse(port, hello(server.url, prefix), {"seq": 1, "op": "start"}, *requests)
    assert [answer.get("error") for answer in answers[2:]] == ["invalid"] * len(wrong)
    assert client.keys(f"{prefix}*") == []


def test_without_a_server_it_introduces_itself_and_start_is_refused(port: str) -> None:
    first, start, enqueue, trace, odd, stop = converse(
        port,
        hello(NOBODY, "p", unknown=[1]),
        {"seq": 1, "op": "start"},
        {"seq": 2, "op": "enqueue", "queue": "workflow", "id": "a"},
        {"seq": 3, "op": "trace", "steps": [["dequeue", "index"], ["start"]]},
        {"seq": 4, "op": "polish"},
        {"seq": 5, "op": "stop"},
        {"seq": 6, "op": "start"},  # nobody is there any more to answer this
    )
    assert first["storages"] == list(STORAGES)
    assert set(first["capabilities"]) == {"added", "bytes"}
    assert (start["seq"], start["ok"], start["error"]) == (1, False, "not-executed")
    assert enqueue["error"] == "not-started"
    assert [result["error"] for result in trace["results"]] == ["not-started", "not-executed"]
    assert odd["error"] == "unsupported"
    assert stop == {"seq": 5, "ok": True}


def test_a_storage_that_it_lacks_is_unsupported(port: str) -> None:
    (answer,) = converse(port, hello(NOBODY, "p", "heap"))
    assert (answer["ok"], answer["error"]) == (False, "unsupported")


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("storage", STORAGES)
def test_start_tries_all_three_and_names_each_that_it_refused(
    port: str, server: Server, client: redis.Redis, prefix: str, storage: str
) -> None:
    client.set(f"{prefix}-workflows", "foreign")
    client.sadd(f"{prefix}-events", "foreign")
    client.rpush(f"{prefix}-index", "b", "a", "b")
    _, start, dequeue = converse(
        port,
        hello(server.url, prefix, storage),
        {"seq": 1, "op": "start"},
        {"seq": 2, "op": "dequeue", "queue": "index"},
    )
    assert start["error"] == "wrong-type"
    named = [f"{prefix}-{name}" in start["message"] for name in ("workflows", "events", "index")]
    assert named == [True, True, False]
    assert dequeue["error"] == "not-started"
    assert client.type(f"{prefix}-index") == (b"list" if storage == "list" else b"zset")


@pytest.mark.servers("redis-7.0")
def test_a_failed_step_ends_itself_and_not_its_trace(
    port: str, server: Server, client: redis.Redis, prefix: str
) -> None:
    enqueue, dequeue = Operation("enqueue", "event", b"a"), Operation("dequeue", "event")
    with started(port, server.url, prefix, "zset") as host:
        client.rpush(f"{prefix}-events", "a")
        steps = [enqueue, dequeue, Operation("start"), enqueue, dequeue, dequeue]
        answers = host.trace(steps, 5)
    kinds = [answer.kind if isinstance(answer, Failed) else answer for answer in answers]
    assert kinds == ["wrong-type", "wrong-type", None, False, b"a", None]
    assert isinstance(answers[0], Failed) and f"{prefix}-events" in answers[0].message
    assert "start()" in answers[0].message

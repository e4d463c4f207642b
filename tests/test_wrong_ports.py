"""Wrong ports are caught, and by the right name; breaches of the protocol, within seconds.

Covers B33 (hegeldev/hegel-core#25), B35 (open-jarvis/OpenJarvis#750) and B38 (flux-framework/
flux-core#6171): lines cut at U+2028, unread standard error, and big numbers in JSON.
"""

from __future__ import annotations

import os
import sys
import time

import pytest

from tests import wrong, wrong_hosts, wrong_port
from tests.mutation_score import caught_by
from uniqfifo_spec.conformance import transitions
from uniqfifo_spec.conformance.bench import at_url, spawned
from uniqfifo_spec.conformance.implementations import port
from uniqfifo_spec.conformance.protocol import (
    ProtocolError,
    decode_id,
    encode_id,
    line_of,
    read_answer,
)
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.stdio import Port, StdioTarget

pytestmark = [pytest.mark.once, pytest.mark.servers("valkey-9.1")]

OF_PORTS = [name for name in wrong_hosts.HOSTS if name not in wrong.WRONG]


def command(fault: str) -> str:
    return f"{sys.executable} -m tests.wrong_port '{fault}'"


def test_how_many_there_are() -> None:
    assert len(wrong_hosts.HOSTS) + len(wrong_port.PROTOCOL) == 64


@pytest.mark.parametrize("fault", OF_PORTS)
def test_every_wrong_port_is_caught(server: Server, fault: str) -> None:
    with at_url(server.url) as bench:
        assert caught_by(bench, fault)


@pytest.mark.parametrize("fault", wrong.WRONG)
def test_every_wrong_algorithm_is_caught_over_stdio_too(server_name: str, fault: str) -> None:
    from tests import servers

    binary = servers.binary(server_name)
    if binary is None:
        pytest.skip(servers.why_missing(server_name))
    with spawned(binary) as bench:  # its own, so that calls of TIME can be counted
        assert caught_by(bench, fault)


@pytest.mark.parametrize("fault", wrong_port.PROTOCOL)
def test_every_breach_of_the_protocol_has_its_name(server: Server, fault: str) -> None:
    began = time.monotonic()
    with at_url(server.url) as bench:
        assert caught_by(bench, fault) == wrong_port.PROTOCOL[fault][1]
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("name", wrong_port.RIGHT)
def test_a_right_port_conforms(server: Server, name: str) -> None:
    with at_url(server.url) as bench:
        implementation = port(command(name), bench)
        report = Report("zset-strict")
        for _ in transitions.run(bench, implementation, "zset-strict", report):
            pass
    assert report.verdict == "conforms"
    assert report.transitions == 1286


@pytest.mark.parametrize("fault", ["hangs", "leaves a child", "does not stop", "dies"])
def test_nothing_is_left_running(server: Server, prefix: str, fault: str) -> None:
    target = StdioTarget(command(fault), server.url, prefix, "list")
    group = target.port._process.pid
    with pytest.raises(ProtocolError):
        for _ in range(9):
            target.start()
        target.stop()
    if target._port:
        target._port.kill()
    with pytest.raises(ProcessLookupError):
        for _ in range(100):  # whoever inherits an orphan buries it when it gets round to it
            os.killpg(group, 0)
            time.sleep(0.1)


def test_an_interrupt_before_it_said_hello_ends_it(
    server: Server, prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    groups = []

    def interrupted(port: Port, *arguments: object) -> bytes:
        groups.append(port._process.pid)
        raise KeyboardInterrupt

    monkeypatch.setattr(Port, "_line", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Port(command("right"), server.url, prefix, "list")
    with pytest.raises(ProcessLookupError):
        os.killpg(groups[0], 0)


def test_a_port_that_cannot_run_says_so(server: Server) -> None:
    for nonsense in ("/no/such/port", "'", "/bin/false"):
        with pytest.raises(ProtocolError):
            Port(nonsense, server.url, "p", "list")


def test_a_long_trace_is_written_while_it_is_answered(server: Server, prefix: str) -> None:
    from uniqfifo_spec.conformance.oracle import Operation

    target = StdioTarget(command("right"), server.url, prefix, "list")
    target.start()
    long = [Operation("enqueue", "workflow", b"x" * 1000), Operation("dequeue", "workflow")]
    answers = target.trace(long * 5000, 60)
    assert answers == [True, b"x" * 1000] * 5000
    target.stop()


@pytest.mark.parametrize("id", ["\u2028", "\u2029", "\x85", "\v", "\f", "\x1c", "\r", "\n", "\r\n"])
def test_ids_with_line_breaks_of_all_kinds_travel_whole(
    server: Server, prefix: str, id: str
) -> None:
    target = StdioTarget(command("right"), server.url, prefix, "zset")
    target.start()
    assert target.enqueue("event", id.encode()) is True
    assert target.dequeue("event") == id.encode()
    target.stop()


def test_ids_never_turn_into_numbers() -> None:
    for id in (b"9007199254740993", b"1e3", b"007", b"NaN", b"-0", b"\xff", b""):
        line = line_of({"seq": 0, "ok": True, "id": encode_id(id)})
        assert decode_id(read_answer(line, "dequeue", 0)["id"]) == id


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (b'{"seq":0,"ok":true,"id":9007199254740993}\n', "bad-answer"),
        (b'{"seq":0,"ok":true,"id":NaN}\n', "not-json"),
        (b'{"seq":0,"ok":true,"id":{"b64":"?"}}\n', "bad-id"),
        (b'{"seq":0,"ok":true,"id":"\\ud800"}\n', "bad-id"),
        (b'{"seq":0,"ok":true}\n', "bad-answer"),
        (b'{"seq":0,"ok":false,"error":"tired"}\n', "bad-answer"),
        (b'{"seq":1,"ok":true,"id":null}\n', "out-of-order"),
        (b'{"seq":0,"skipped":"why"}\n', "skipped"),
        (b"[]\n", "bad-answer"),
        (b"\xff\n", "not-json"),
        (b"\n", "not-json"),
        (b"[" * 100_000 + b"\n", "not-json"),
    ],
)
def test_answers_that_are_none(line: bytes, fault: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_id(read_answer(line, "dequeue", 0)["id"])
    assert caught.value.fault == fault


def test_unknown_fields_and_a_trailing_carriage_return_are_tolerated() -> None:
    answer = read_answer(b'{"seq":0,"ok":true,"id":null,"took":7}\r\n', "dequeue", 0)
    assert answer["id"] is None

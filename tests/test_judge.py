"""`uniqfifo judge`, and the files it reads.

Covers B06 (jepsen-io/jepsen#596, anishathalye/porcupine#8), a timed-out call recorded as failed;
and B40 (etcd-io/etcd#15323), stamps of the wall clock in a history.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.test_cli import uniqfifo
from uniqfifo_spec.history import judge
from uniqfifo_spec.history.recording import BadRecord, read

pytestmark = pytest.mark.once

HEADER = {"history": 1, "clock": "monotonic"}


def lines(*records: dict[str, Any], header: dict[str, Any] = HEADER) -> list[bytes]:
    return [json.dumps(record).encode() + b"\n" for record in (header, *records)]


def call(op: str, begin: int, end: int | None, **more: Any) -> dict[str, Any]:
    return {"client": "c", "op": op, "queue": "workflow", "call": begin, "return": end, **more}


def verdicts(*records: dict[str, Any], header: dict[str, Any] = HEADER) -> tuple[str, str]:
    history = read(lines(*records, header=header))["workflow"]
    return judge(history, "bag").verdict.value, judge(history, "fifo").verdict.value


YES = ("explainable", "explainable")
NO = ("unexplainable", "unexplainable")


def test_a_queue_is_explained() -> None:
    calls = [call("enqueue", 0, 1, id="a", added=True), call("enqueue", 2, 3, id="b", added=True)]
    assert verdicts(*calls, call("dequeue", 4, 5, id="a")) == YES
    assert verdicts(*calls, call("dequeue", 4, 5, id="b")) == ("explainable", "unexplainable")
    assert verdicts(*calls, call("dequeue", 4, 5, id="c")) == NO
    assert verdicts(*calls, call("dequeue", 4, 5, id=None)) == NO
    assert verdicts(*calls, call("enqueue", 4, 5, id="a", added=True)) == NO


def test_an_unknown_outcome_took_effect_once_later_or_never() -> None:
    timed_out = call("enqueue", 0, None, id="x", outcome="unknown")
    assert verdicts(timed_out, call("dequeue", 5, 6, id="x")) == YES
    assert verdicts(timed_out, call("dequeue", 5, 6, id=None)) == YES
    gone = call("dequeue", 2, None, outcome="unknown")
    pending = call("enqueue", 0, 1, id="y", added=True)
    assert verdicts(pending, gone, call("dequeue", 5, 6, id=None)) == YES
    assert verdicts(pending, gone, call("dequeue", 5, 6, id="y")) == YES


def test_but_it_is_no_joker() -> None:
    pending = call("enqueue", 0, 1, id="y", added=True)
    gone = call("dequeue", 2, None, outcome="unknown")
    twice = [call("dequeue", 5, 6, id="y"), call("dequeue", 7, 8, id="y")]
    assert verdicts(pending, gone, *twice) == NO
    timed_out = call("enqueue", 2, None, id="y", outcome="unknown")
    assert verdicts(pending, timed_out, *twice) == YES
    assert verdicts(pending, timed_out, *twice, call("dequeue", 9, 10, id="y")) == NO
    refused = call("enqueue", 2, 3, id="y", outcome="not-executed")
    assert verdicts(refused, twice[0]) == NO


def test_equal_stamps_overlap() -> None:
    assert verdicts(call("dequeue", 0, 5, id="a"), call("enqueue", 5, 9, id="a", added=True)) == YES
    assert verdicts(call("dequeue", 0, 4, id="a"), call("enqueue", 5, 9, id="a", added=True)) == NO


def test_what_was_pending_before_and_after_and_one_rollback() -> None:
    took = call("dequeue", 0, 1, id="a")
    header = {**HEADER, "initial": {"workflow": ["a", "b"]}, "final": {"workflow": ["b"]}}
    assert verdicts(took, header=header) == YES
    assert verdicts(took, header={**header, "final": {"workflow": ["a", "b"]}}) == NO
    rolled_back = {**header, "final": {"workflow": ["a", "b"]}, "fault": [2, 3]}
    assert verdicts(took, header=rolled_back) == YES


def test_queues_are_judged_one_by_one() -> None:
    histories = read(
        lines(
            call("enqueue", 0, 1, id="a", added=True),
            {**call("enqueue", 0, 1, id="a", added=True), "queue": "event"},
        )
    )
    assert sorted(histories) == ["event", "workflow"]


def test_ids_are_whatever_they_are() -> None:
    odd = [("\u2028", "\u2028"), ({"b64": "/w=="}, {"b64": "/w=="}), ("007", "007")]
    for put, got in odd:
        both = call("enqueue", 0, 1, id=put, added=True), call("dequeue", 2, 3, id=got)
        assert verdicts(*both) == YES
    assert verdicts(call("enqueue", 0, 1, id="007"), call("dequeue", 2, 3, id="7")) == NO


def test_large_stamps_are_text() -> None:
    assert verdicts(call("dequeue", "9007199254740993", "9007199254740994", id=None)) == YES  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (call("dequeue", 5, 4, id=None), "line 2: return 4 is before call 5"),
        (call("dequeue", 0, 1), "line 2: id: an answered dequeue needs it"),
        (call("dequeue", 0, 1, id=7), "line 2: id: expected a string"),
        (call("enqueue", 0, 1, id="\ud800"), "line 2: id: expected a string"),
        (call("enqueue", 0, 1, id="a", added="yes"), "line 2: added: expected true or false"),
        (call("enqueue", 2**60, 2**61, id="a"), "line 2: call: numbers beyond 2^53"),
        (call("push", 0, 1, id="a"), "line 2: op: expected enqueue"),
        (call("enqueue", 0, 1, id="a", outcome="odd"), "line 2: outcome: unknown or"),
        (call("enqueue", 0, None, id="a"), "line 2: an answered call needs"),
    ],
)
def test_a_bad_record_names_line_and_field(record: dict[str, Any], message: str) -> None:
    with pytest.raises(BadRecord) as caught:
        read(lines(record))
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], "line 1: no header"),
        ([b"{}\n"], "line 1: history: expected version 1"),
        ([b'{"history":1,"clock":"wall"}\n'], "line 1: clock: expected"),
        ([b"no\n"], "line 1: no JSON"),
        ([b"[]\n"], "line 1: expected an object"),
        ([b'{"history":1,"clock":"monotonic","fault":[3]}\n'], "line 1: fault"),
        ([b'{"history":1,"clock":"monotonic","fault":[3,2]}\n'], "line 1: fault: it ends"),
        ([b'{"history":1,"clock":"monotonic","fault":[2,3]}\n', b"{}\n"], "line 2: "),
        ([b'{"history":1,"clock":"monotonic","fault":["%d","9"]}\n' % 10**4299], "line 1: fault"),
        ([b'{"history":1,"clock":"monotonic","fault":["9%d","9"]}\n' % 10**4299], "line 1: fault"),
        ([b"[" * 100_000 + b"\n"], "line 1: no JSON"),
    ],
)
def test_a_bad_file_names_its_line(raw: list[bytes], message: str) -> None:
    with pytest.raises(BadRecord) as caught:
        read(raw)
    assert str(caught.value).startswith(message)


def test_the_example_of_the_guide() -> None:
    guide = (Path(__file__).parent.parent / "spec" / "PORTING.md").read_text("utf-8")
    start = guide.index('{"history":1')
    example = guide[start : guide.index("```", start)].encode().splitlines(keepends=True)
    assert len(example) == 4
    assert judge(read(example)["workflow"], "fifo").verdict.value == "explainable"


def test_the_command(tmp_path: Path) -> None:
    file = tmp_path / "history.ndjson"
    file.write_bytes(b"".join(lines(call("enqueue", 0, 1, id="a"), call("dequeue", 2, 3, id="a"))))
    done = uniqfifo("judge", str(file))
    assert done.returncode == 0
    assert "workflow as a fifo: explainable (2 calls" in done.stdout
    file.write_bytes(b"".join(lines(call("enqueue", 0, 1, id="a"), call("dequeue", 2, 3, id="b"))))
    done = uniqfifo("judge", str(file))
    assert done.returncode == 1
    assert "The first point that nothing explains" in done.stdout and "│ 'b' " in done.stdout
    result = json.loads(uniqfifo("judge", str(file), "--json", "--model", "fifo").stdout)
    assert result["judgements"][0]["verdict"] == "unexplainable"
    file.write_bytes(b"".join(lines(call("dequeue", 2, 3, id="[/]\x1b", queue="[/]\x1b[2J"))))
    done = uniqfifo("judge", str(file))
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("[/]\\x1b[2J as a bag: unexplainable")
    assert "'[/]\\x1b'" in done.stdout and "\x1b" not in done.stdout
    file.write_text("{}\n")
    done = uniqfifo("judge", str(file))
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert uniqfifo("judge", str(tmp_path / "nothing")).returncode == 2

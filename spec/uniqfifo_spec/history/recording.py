"""Recorded histories as files: NDJSON, one object a line, UTF-8, lines ended by LF alone.

The first line is a header: `{"history": 1, "clock": "monotonic"}`, and may tell what was pending
before (`"initial": {"workflow": ["a"]}`), what after (`"final"`, likewise), and between which two
stamps the server may have gone back to an earlier value (`"fault": [from, until]`).

Each further line is a call:

    {"client": "c1", "op": "enqueue", "queue": "workflow", "id": "a",
     "call": 10, "return": 20, "added": true}
    {"client": "c2", "op": "dequeue", "queue": "workflow", "call": 12, "return": 31, "id": null}

`id` of a dequeue is what it answered. Stamps are readings of one monotonic clock, the same for all
clients, in any unit; beyond 2^53 they are written as text. A call that failed has no answer but an
`"outcome"`: `"unknown"` (and no `return`, if it never ended) or `"not-executed"`. `added` may be
left out. An id is a string, or `{"b64": "…"}` if it is not UTF-8. Other fields are ignored.
"""

import base64
import binascii
import json
from collections.abc import Iterable
from typing import Any, NoReturn

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.history.calls import UNTOLD, Call, History, InvalidHistory, Outcome, Stamp

_DIGITS = 4300  # Python reads no longer number

_OUTCOMES = {"unknown": Outcome.UNKNOWN, "not-executed": Outcome.NOT_EXECUTED}


class BadRecord(ValueError):
    """A line that is no record; the text names the line and the field."""


def read(lines: Iterable[bytes]) -> dict[str, History]:
    """The history of each queue, by its name, from the lines of a file.

    Raises BadRecord.
    """
    header: dict[str, Any] | None = None
    calls: dict[str, list[Call]] = {}
    for number, line in enumerate(lines, start=1):
        try:
            record = _object(line)
            if header is None:
                header = _header(record)
            else:
                calls.setdefault(_text(record, "queue"), []).append(_call(record))
        except (BadRecord, InvalidHistory) as problem:
            raise BadRecord(f"line {number}: {problem}") from None
    if header is None:
        raise BadRecord('line 1: no header: expected {"history": 1, "clock": "monotonic"}')
    try:
        return _histories(header, calls)
    except (BadRecord, InvalidHistory) as problem:
        raise BadRecord(f"line 1: {problem}") from None


def _histories(header: dict[str, Any], calls: dict[str, list[Call]]) -> dict[str, History]:
    initial, final = _queues(header, "initial"), _queues(header, "final")
    fault = header.get("fault")
    if fault is not None:
        if not (isinstance(fault, list) and len(fault) == 2):
            raise BadRecord(f"fault: expected [from, until], found {fault!r}")
        fault = (_stamp({"fault": fault[0]}, "fault"), _stamp({"fault": fault[1]}, "fault"))
        if fault[1] < fault[0]:
            raise BadRecord(f"fault: it ends before it begins: {fault[0]}, {fault[1]}")
    return {
        queue: History(tuple(calls.get(queue, ())), initial.get(queue, ()), final.get(queue), fault)
        for queue in sorted({*calls, *initial, *final})
    }


def _header(record: dict[str, Any]) -> dict[str, Any]:
    if record.get("history") != 1:
        raise BadRecord(f"history: expected version 1, found {record.get('history')!r}")
    if record.get("clock") != "monotonic":
        raise BadRecord(f'clock: expected "monotonic", found {record.get("clock")!r}')
    return record


def _call(record: dict[str, Any]) -> Call:
    op = record.get("op")
    if op not in ("enqueue", "dequeue", "remove"):
        raise BadRecord(f"op: expected enqueue, dequeue or remove, found {op!r}")
    outcome = Outcome.ANSWERED
    if "outcome" in record:
        if record["outcome"] not in _OUTCOMES:
            raise BadRecord(f"outcome: unknown or not-executed, found {record['outcome']!r}")
        outcome = _OUTCOMES[record["outcome"]]
    began = _stamp(record, "call")
    ended = _stamp(record, "return") if record.get("return") is not None else None
    client = _text(record, "client")
    if op == "dequeue":
        answer = UNTOLD if outcome is not Outcome.ANSWERED else _answer(record)
        return Call(client, op, None, began, ended, answer, outcome)
    field = "added" if op == "enqueue" else "removed"
    added = record.get(field, UNTOLD)
    if not (added is UNTOLD or isinstance(added, bool)):
        raise BadRecord(f"{field}: expected true or false, found {added!r}")
    return Call(client, op, _id(record.get("id"), "id"), began, ended, added, outcome)


def _answer(record: dict[str, Any]) -> Id | None:
    if "id" not in record:
        raise BadRecord("id: an answered dequeue needs it; null if nothing was pending")
    return None if record["id"] is None else _id(record["id"], "id")


def _queues(header: dict[str, Any], field: str) -> dict[str, Pending]:
    queues = header.get(field, {})
    if not isinstance(queues, dict) or not all(isinstance(ids, list) for ids in queues.values()):
        raise BadRecord(f"{field}: expected a list of ids for each queue, found {queues!r}")
    return {queue: tuple(_id(id, field) for id in ids) for queue, ids in queues.items()}


def _id(value: Any, field: str) -> Id:
    try:
        if isinstance(value, str):
            return value.encode("utf-8")
        if isinstance(value, dict):
            return base64.b64decode(value["b64"], validate=True)
    except (UnicodeEncodeError, binascii.Error, KeyError, TypeError):
        pass
    raise BadRecord(f'{field}: expected a string or {{"b64": "…"}}, found {value!r}')


def _stamp(record: dict[str, Any], field: str) -> Stamp:
    value = record.get(field)
    if isinstance(value, str) and value.removeprefix("-").isdecimal() and len(value) <= _DIGITS:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadRecord(f"{field}: expected a number, or a whole one as text, found {value!r}")
    if abs(value) > 2**53:
        raise BadRecord(f"{field}: numbers beyond 2^53 are written as text, found {value!r}")
    return value


def _text(record: dict[str, Any], field: str) -> str:
    value = record.get(field)
    if not isinstance(value, str):
        raise BadRecord(f"{field}: expected text, found {value!r}")
    return value


def _object(line: bytes) -> dict[str, Any]:
    try:
        record = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as problem:
        raise BadRecord(f"no JSON: {problem}") from None
    if not isinstance(record, dict):
        raise BadRecord(f"expected an object, found {record!r}")
    return record


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number of JSON")

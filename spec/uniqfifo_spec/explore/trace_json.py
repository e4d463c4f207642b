"""Reports and traces as JSON, for other programs and for replay.

An id is a string, or {"b64": …} if it is not UTF-8. A key in a command is {"key": 0} or {"key": 1}.
A script is {"script": "list.enqueue", "arguments": […]}: the design and the call whose text to run.
"""

from base64 import b64encode
from typing import Any

from uniqfifo_spec.commands import Command, Error
from uniqfifo_spec.designs import Atomic, Keys
from uniqfifo_spec.explore.configuration import members
from uniqfifo_spec.explore.report import Report, Verdict
from uniqfifo_spec.explore.trace import Row, Trace
from uniqfifo_spec.keyspace import Value, ZSet, kind


def report_as_json(report: Report) -> dict[str, Any]:
    return {
        "configuration": str(report.configuration),
        "states": report.states,
        "transitions": report.transitions,
        "complete": report.complete,
        "verdicts": {name: _verdict(verdict) for name, verdict in report.verdicts.items()},
    }


def trace_as_json(trace: Trace) -> dict[str, Any]:
    return {
        "property": trace.broken,
        "configuration": str(trace.configuration),
        "initial": keys_as_json(trace.initial),
        "needs_clock": trace.needs_clock,
        "steps": [_row(row) for row in trace.rows],
        "aftermath": [_row(row) for row in trace.aftermath],
    }


def plain(value: Any) -> Any:
    """A reply, an answer or a part of a command: bytes are ids, an error is its first word."""
    match value:
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return {"b64": b64encode(value).decode()}
        case Error(code):
            return {"error": code}
        case tuple() | list():
            return [plain(item) for item in value]
        case _:
            return value


def keys_as_json(keys: Keys) -> list[dict[str, Any]]:
    return [_value(value) for value in keys]


def _value(value: Value) -> dict[str, Any]:
    found = {"type": kind(value), "ids": plain(members(value))}
    if isinstance(value, ZSet):
        found["scores"] = [score for score, _ in value.entries]
    return found


def _verdict(verdict: Verdict) -> dict[str, Any]:
    found: dict[str, Any] = {"verdict": verdict.outcome, "reason": verdict.reason}
    if verdict.trace:
        found["trace"] = trace_as_json(verdict.trace)
    return found


def _row(row: Row) -> dict[str, Any]:
    return {
        "client": row.client + 1,
        "design": row.design,
        "call": str(row.operation),
        "begins": row.begins,
        "command": row.command and _command(row, row.command),
        "reply": plain(row.reply),
        "keys": keys_as_json(row.keys),
        "end": row.end.value,
        "answer": plain(row.answer),
        "fault": row.fault,
        "clock": row.clock,
    }


def _command(row: Row, command: Command) -> Any:
    if isinstance(command, Atomic):
        script = f"{row.design}.{row.operation.verb}"
        return {"script": script, "arguments": plain(command.arguments)}
    return [plain(part) for part in command.wire({"key": command.KEY})]

"""The stdio protocol, version 1: one message, to its line and back.

`data/protocol.schema.json` says what a message has to look like.
"""

import base64
import binascii
import json
from functools import cache
from importlib.resources import files
from typing import Any, NoReturn

from jsonschema import Draft202012Validator
from jsonschema.protocols import Validator

from uniqfifo.refusals import without_password
from uniqfifo.storage import printable

VERSION = 1
LONGEST_LINE = 16 * 1024 * 1024  # bytes, the line feed included


class ProtocolError(Exception):
    """The port broke the protocol. `fault` names how, the text says where."""

    def __init__(self, fault: str, message: str) -> None:
        super().__init__(printable(without_password(f"{fault}: {message}")))
        self.fault = fault


def encode_id(id: bytes) -> str | dict[str, str]:
    """An id as JSON: a string, or its bytes if it is not UTF-8."""
    try:
        return id.decode("utf-8")
    except UnicodeDecodeError:
        return {"b64": base64.b64encode(id).decode("ascii")}


def decode_id(value: Any) -> bytes:
    """The id that a message names. Raises ProtocolError for what no id can look like."""
    try:
        if isinstance(value, str):
            return value.encode("utf-8")
        return base64.b64decode(value["b64"], validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise ProtocolError("bad-id", f"{value!r} is no id: {error}") from None


def line_of(message: dict[str, Any]) -> bytes:
    """A message as the line that is sent: UTF-8 whatever the locale, and one LF at its end."""
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode("utf-8") + b"\n"


def read_answer(line: bytes, op: str, seq: int) -> dict[str, Any]:
    """The answer to request `seq`, an `op`, from its line. Raises ProtocolError."""
    try:
        answer = json.loads(line.decode("utf-8"), parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise ProtocolError("not-json", f"{_shown(line)} in answer to {op}: {error}") from None
    if isinstance(answer, dict) and answer.get("seq") != seq and "seq" in answer:
        raise ProtocolError("out-of-order", f"answer {answer['seq']!r} to request {seq}, {op}")
    _validate(answer, "answer", op)
    if answer.get("ok") is True:
        _validate(answer, op, op)
    if "skipped" in answer:
        raise ProtocolError("skipped", f"{op} is not optional: {answer['skipped']}")
    return answer  # type: ignore[no-any-return]


def _validate(message: Any, name: str, op: str) -> None:
    problem = next(iter(_validator(name).iter_errors(message)), None)
    if problem:
        where = "/".join(map(str, problem.absolute_path))
        reason = problem.message if len(problem.message) < 200 else f"{problem.message[:200]}…"
        raise ProtocolError(
            "bad-answer", f"answer to {op}{f', at {where}' * bool(where)}: {reason}"
        )


@cache
def _validator(name: str) -> Validator:
    text = files("uniqfifo_spec").joinpath("data", "protocol.schema.json").read_text("utf-8")
    schema = json.loads(text)
    return Draft202012Validator({"$ref": f"#/$defs/{name}", "$defs": schema["$defs"]})


def _no_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _shown(line: bytes) -> str:
    return repr(line if len(line) <= 80 else line[:80] + b"...")

"""What client processes write down, and what can be read of it, even if one of them was killed.

A file of one process, one JSON array a line. A call is two lines, so that a call whose process was
killed is known to have begun:

    ["+", host, number, operation, queue, id, stamp]
    ["-", host, number, outcome, answer, why, stamp]

Stamps are nanoseconds of the system's monotonic clock, which all processes share.
"""

from __future__ import annotations

import json
import os
import time
import traceback
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, cast

from uniqfifo import NotExecuted, OutcomeUnknown
from uniqfifo_spec.history import UNTOLD, Call, Outcome
from uniqfifo_spec.history.calls import Operation

ANSWERED, UNKNOWN, NOT_EXECUTED = (outcome.value for outcome in Outcome)
UNTYPED = "untyped"
"""The outcome of a call that failed with an error that says nothing of its outcome."""


@dataclass
class Noted:
    """What became of a call: its answer, or why there is none; of a refusal also the whole text."""

    answer: Any = None
    outcome: str = UNKNOWN
    why: str = "cancelled"


class Log:
    """The file of one process. Many threads may write to it, and children after a fork."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        self._numbers = count()

    def close(self) -> None:
        os.close(self._file)

    @contextmanager
    def call(self, host: str, operation: str, queue: str, id: str | None = None) -> Iterator[Noted]:
        """Note a call of this host; what it answered is to be put into what is yielded.

        No error leaves this but what is no `Exception`: a cancellation, which is outcome unknown.
        """
        number = next(self._numbers)
        noted = Noted()
        self._write("+", host, number, operation, queue, id)
        try:
            yield noted
            noted.outcome, noted.why = ANSWERED, ""
        except NotExecuted as error:
            noted.outcome, noted.why, noted.answer = NOT_EXECUTED, error.reason.value, str(error)
        except OutcomeUnknown as error:
            noted.why = str(error)
        except Exception:
            noted.outcome, noted.why = UNTYPED, traceback.format_exc()
        finally:
            self._write("-", host, number, noted.outcome, noted.answer, noted.why)

    def _write(self, *fields: Any) -> None:
        line = json.dumps([*fields, time.monotonic_ns()])
        os.write(self._file, line.encode() + b"\n")


class Entry(NamedTuple):
    """One call. If it never ended, `ended` is None and the outcome unknown."""

    host: str
    operation: str
    queue: str
    id: str | None
    began: int
    ended: int | None
    outcome: str
    answer: Any
    why: str

    def as_call(self) -> Call:
        """The same for the judge."""
        outcome = Outcome.UNKNOWN if self.outcome == UNTYPED else Outcome(self.outcome)
        answer = self.answer if outcome is Outcome.ANSWERED else UNTOLD
        return Call(
            self.host,
            cast(Operation, self.operation),
            self.id.encode() if self.id is not None else None,
            self.began,
            self.ended,
            answer.encode() if isinstance(answer, str) else answer,
            outcome,
        )


def read(paths: Iterable[Path]) -> list[Entry]:
    """All calls of these files, in the order in which they began."""
    entries = [entry for path in paths for entry in _read(path)]
    return sorted(entries, key=lambda entry: entry.began)


def _read(path: Path) -> Iterator[Entry]:
    begun: dict[tuple[str, int], tuple[Any, ...]] = {}
    for line in path.read_bytes().splitlines():
        try:
            sign, host, number, *fields = json.loads(line)
        except ValueError:
            continue  # the last line of a process that was killed
        if sign == "+":
            begun[host, number] = tuple(fields)
        else:
            operation, queue, id, began = begun.pop((host, number))
            outcome, answer, why, ended = fields
            yield Entry(host, operation, queue, id, began, ended, outcome, answer, why)
    for (host, _), (operation, queue, id, began) in begun.items():
        yield Entry(host, operation, queue, id, began, None, UNKNOWN, None, "killed")

"""Drives a port over its standard input and output.

Every wait has a limit, and whatever the port does, nothing of it is left running.
"""

import os
import queue
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO, Any

from uniqfifo.refusals import without_password
from uniqfifo_spec.conformance.oracle import Operation
from uniqfifo_spec.conformance.protocol import (
    LONGEST_LINE,
    VERSION,
    ProtocolError,
    decode_id,
    encode_id,
    line_of,
    read_answer,
)
from uniqfifo_spec.conformance.targets import Answer, Failed
from uniqfifo_spec.history import UNTOLD

HELLO_WITHIN = 10.0  # seconds
ANSWER_WITHIN = 5.0
_PIPE_HOLDS = 4096  # bytes, at the least
STDERR_KEPT = 64 * 1024  # bytes


class Port:
    """One process of a port, from hello to stop.

    Raises ProtocolError when the port breaks the rules. `command` is split like a shell line, and
    run without a shell in a process group of its own.
    """

    def __init__(self, command: str, url: str, prefix: str, storage: str) -> None:
        self._seq = 0
        try:
            self._process = subprocess.Popen(
                shlex.split(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise ProtocolError("does-not-run", f"{command!r}: {error}") from None
        self._lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._stderr = b""
        self._threads = [
            threading.Thread(target=target, daemon=True) for target in (self._read, self._drain)
        ]
        for thread in self._threads:
            thread.start()
        self._broken = False
        self.hello = self.ask(
            "hello", HELLO_WITHIN, version=VERSION, redis=url, prefix=prefix, storage=storage
        )
        if not self.hello["ok"]:
            self.kill()
            why = f"{self.hello['error']}: {self.hello.get('message', '')}"
            raise ProtocolError("refuses-hello", why)

    @property
    def stderr(self) -> str:
        """The end of what it wrote to standard error."""
        return self._stderr.decode("utf-8", "replace")

    def ask(self, op: str, within: float = ANSWER_WITHIN, **fields: Any) -> dict[str, Any]:
        """Send one request and return its answer, which may be a failure."""
        seq, self._seq = self._seq, self._seq + 1
        line = line_of({"seq": seq, "op": op, **fields})
        if len(line) < _PIPE_HOLDS:
            self._write(line)
        else:  # it may answer before it has read all, and both pipes fill
            threading.Thread(target=self._write, args=(line,), daemon=True).start()
        try:
            return read_answer(self._line(op, seq, within), op, seq)
        except BaseException:  # interrupted, too: nobody else knows of it before it said hello
            self._broken = True
            self.kill()
            raise

    def stop(self) -> None:
        """Ask it to stop, and see that it does, alone and silently.

        Raises ProtocolError if it does not. Whoever broke the protocol before is gone already.
        """
        if self._broken:
            return
        try:
            self.ask("stop")
            self._ends_within(ANSWER_WITHIN)
        finally:
            self.kill()

    def kill(self) -> None:
        """End the process and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for thread in self._threads:
            thread.join(1)  # both read to the end, unless something else holds the pipe open
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            _close(stream)

    def _ends_within(self, limit: float) -> None:
        try:
            self._process.wait(limit)
        except subprocess.TimeoutExpired:
            raise ProtocolError("does-not-stop", f"still running {limit:g} s after stop") from None
        extra = self._lines.get() if not self._lines.empty() else None
        if extra is not None:
            raise ProtocolError("stray-output", f"after stop it printed {extra[:80]!r}")
        if _group_is_alive(self._process.pid):
            raise ProtocolError("left-a-child", "a process that it started outlives it")

    def _write(self, line: bytes) -> None:
        assert self._process.stdin
        # If it died, or is killed meanwhile, reading the answer says so.
        with suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def _line(self, op: str, seq: int, within: float) -> bytes:
        try:
            line = self._lines.get(timeout=within)
        except queue.Empty:
            raise ProtocolError(
                "hangs", f"no answer to {op}, request {seq}, within {within:g} s{self._said()}"
            ) from None
        if line is None:
            code = self._process.wait()
            raise ProtocolError(
                "dies", f"it exited with {code} before it answered {op}{self._said()}"
            )
        if not line.endswith(b"\n"):
            fault = "line-too-long" if len(line) >= LONGEST_LINE else "cut-line"
            raise ProtocolError(fault, f"{len(line)} bytes without a line feed, in answer to {op}")
        return line

    def _said(self) -> str:
        last = self.stderr.strip().splitlines()[-1:]
        return f"; on stderr: {last[0][:200]}" if last else ""

    def _read(self) -> None:
        assert self._process.stdout
        # Split at LF only: U+2028 and its like are text.
        with suppress(OSError, ValueError):
            while line := self._process.stdout.readline(LONGEST_LINE):
                self._lines.put(line)
        self._lines.put(None)

    def _drain(self) -> None:
        assert self._process.stderr
        # Unread it would fill the pipe, and the port would wait for ever.
        with suppress(OSError, ValueError):
            while chunk := os.read(self._process.stderr.fileno(), 65_536):
                self._stderr = (self._stderr + chunk)[-STDERR_KEPT:]


class StdioTarget:
    """A port as a target: one process for each time between start and stop."""

    def __init__(self, command: str, url: str, prefix: str, storage: str) -> None:
        self._arguments = (command, url, prefix, storage)
        self._port: Port | None = None

    @property
    def port(self) -> Port:
        if self._port is None:
            self._port = Port(*self._arguments)
        return self._port

    def start(self) -> Answer:
        return self._answer("start", self.port.ask("start"))

    def enqueue(self, queue: str, id: bytes) -> Answer:
        return self._answer("enqueue", self.port.ask("enqueue", queue=queue, id=encode_id(id)))

    def dequeue(self, queue: str) -> Answer:
        return self._answer("dequeue", self.port.ask("dequeue", queue=queue))

    def trace(self, operations: Sequence[Operation], within: float) -> list[Answer]:
        """Have it do all of these one by one, and answer for all at once."""
        answer = self.port.ask("trace", within, steps=[_step(each) for each in operations])
        if not answer["ok"]:
            return [_failed(answer)] * len(operations)
        results = answer["results"]
        if len(results) != len(operations):
            raise ProtocolError("bad-answer", f"{len(results)} results of {len(operations)} steps")
        return [
            self._answer(operation.name, {"ok": "error" not in result, **result})
            for operation, result in zip(operations, results, strict=True)
        ]

    def stop(self) -> Answer:
        if self._port:
            port, self._port = self._port, None
            port.stop()
        return None

    def _answer(self, op: str, answer: dict[str, Any]) -> Answer:
        if not answer["ok"]:
            return _failed(answer)
        if op == "start":
            return None
        if op == "enqueue":
            tells = "added" in self.port.hello.get("capabilities", ())
            if tells and "added" not in answer:
                raise ProtocolError("bad-answer", "it has the capability added and does not tell")
            added: Answer = answer.get("added", UNTOLD)
            return added
        if "id" not in answer:
            raise ProtocolError("bad-answer", "a dequeue without an id")
        return None if answer["id"] is None else decode_id(answer["id"])


def _step(operation: Operation) -> list[Any]:
    step: list[Any] = [operation.name]
    if operation.queue is not None:
        step.append(operation.queue)
    if operation.id is not None:
        step.append(encode_id(operation.id))
    return step


def _group_is_alive(group: int) -> bool:
    """Does any process of this group still run? The kernel takes a moment to see an end."""
    deadline = time.monotonic() + 0.2
    while time.monotonic() < deadline:
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.01)
    return True


def _close(stream: IO[bytes] | None) -> None:
    with suppress(OSError):  # what was still to be written has nobody to read it
        if stream:
            stream.close()


def _failed(answer: dict[str, Any]) -> Failed:
    """A port may well quote the URL that it was given."""
    return Failed(answer["error"], without_password(answer.get("message", "")))

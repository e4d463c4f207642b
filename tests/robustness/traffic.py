"""The client processes of a run, as the runner sees them."""

from __future__ import annotations

import select
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Self

from tests.robustness.log import ANSWERED, Entry, Log, read
from tests.robustness.worker import Plan

NO_CALL_LASTS = 30.0  # seconds; every timeout of a client is a small part of it
_ROOT = Path(__file__).parents[2]


class Hung(Exception):
    """A client process did not come back from its calls."""


class Process:
    """One worker."""

    def __init__(self, plan: Plan, folder: Path) -> None:
        self.plan = plan
        self._errors = folder / f"{plan.name}.errors"
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.robustness.worker", plan.to_json()],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                cwd=_ROOT,
            )

    def order(self, *words: object) -> None:
        """Give an order; one that was killed does not hear it."""
        assert self._process.stdin
        with suppress(BrokenPipeError):
            self._process.stdin.write(" ".join(map(str, words)).encode() + b"\n")
            self._process.stdin.flush()

    def said(self) -> str:
        """The next line that it says; empty if it ended. Raises Hung."""
        assert self._process.stdout
        if not select.select([self._process.stdout], [], [], NO_CALL_LASTS)[0]:
            raise Hung(self.plan.name)
        return self._process.stdout.readline().decode().strip()

    def kill(self) -> None:
        self._process.kill()

    def errors(self) -> str:
        """What it wrote to standard error: nothing, if all is well."""
        return self._errors.read_text(errors="replace")

    def close(self) -> None:
        for stream in (self._process.stdin, self._process.stdout):
            assert stream
            with suppress(BrokenPipeError):
                stream.close()
        try:
            self._process.wait(5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


class Traffic:
    """All workers of a run.

    `killed` are those that do nothing more; `retired` those that need not be served any more.
    """

    def __init__(self, plans: Sequence[Plan], folder: Path) -> None:
        self._folder = folder
        self._logs: list[Path] = []
        self._begun: set[Process] = set()
        self.processes = [Process(plan, folder) for plan in plans]
        self.killed: set[Process] = set()
        self.retired: set[Process] = set()

    def await_ready(self) -> None:
        for process in self.processes:
            if process.said() != "ready":
                raise RuntimeError(process.errors())

    def go(self, round: str) -> None:
        """Let all hosts begin but the late ones. Their logs are those of this round."""
        self._logs = [self._folder / f"{process.plan.name}.{round}" for process in self.processes]
        self._go(late=False)

    def go_late(self) -> None:
        """Let the late ones begin too."""
        self._go(late=True)

    def _go(self, late: bool) -> None:
        for process, log in zip(self.processes, self._logs, strict=True):
            if process.plan.late is late:
                process.order("go", log)
                self._begun.add(process)

    def own_log(self) -> Log:
        """For calls that a fault makes itself."""
        path = self._folder / "fault.calls"
        self._logs.append(path)
        return Log(f"{path}")

    def pause(self) -> list[int]:
        """Let all hosts end their calls; the memory that each process holds. Raises Hung."""
        alive = [process for process in self.processes if process not in self.killed]
        for process in alive:
            process.order("pause")
        return [int(process.said() or 0) for process in alive]

    def kill(self, process: Process) -> None:
        self.killed.add(process)
        self.retired.add(process)
        process.kill()

    def entries(self) -> list[Entry]:
        """The calls of this round so far."""
        return read(log for log in self._logs if log.exists())

    def forget(self) -> None:
        """Remove the logs of this round."""
        for log in self._logs:
            log.unlink(missing_ok=True)

    def await_served(self, since: int, within: float) -> set[str]:
        """Wait until all hosts have had an answer to a call begun since then; who has not."""
        deadline = time.monotonic() + within
        while True:
            missing = self._unserved(since)
            if not missing or time.monotonic() > deadline:
                return missing
            time.sleep(0.1)

    def _unserved(self, since: int) -> set[str]:
        hosts = {
            f"{process.plan.name}.{number} {key}"
            for process in self._begun - self.retired
            for number in range(process.plan.hosts)
            for key in process.plan.queues
        }
        return hosts - {
            f"{entry.host} {entry.queue}"
            for entry in self.entries()
            if entry.outcome == ANSWERED and entry.began >= since
        }

    def errors(self) -> str:
        return "".join(process.errors() for process in self.processes)

    def close(self) -> None:
        for process in self.processes:
            process.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

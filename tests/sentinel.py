"""Starts a Sentinel, which decides alone."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from pathlib import Path

import redis

from tests.proxy import LOOPBACK, free_port
from uniqfifo_spec.conformance.spawn import Server

SERVICE = "the-queue"


def start_sentinel(stack: ExitStack, binary: str, folder: Path, primary: Server) -> int:
    """The port of a Sentinel that knows this primary and its replica."""
    port = free_port()
    settings = folder / "sentinel.conf"
    settings.write_text(
        f"port {port}\nbind {LOOPBACK}\ndir {folder}\n"
        f"sentinel monitor {SERVICE} {LOOPBACK} {primary.port} 1\n"
        f"sentinel down-after-milliseconds {SERVICE} 300\n"
        f"sentinel failover-timeout {SERVICE} 2000\n"
    )
    with (folder / "sentinel.log").open("wb") as log:
        process = subprocess.Popen([binary, f"{settings}", "--sentinel"], stdout=log)
    stack.callback(process.wait)
    stack.callback(process.kill)
    with redis.Redis(LOOPBACK, port, protocol=2) as client:
        await_true(lambda: client.execute_command("SENTINEL", "SLAVES", SERVICE) != [])
    return port


def await_true(condition: Callable[[], bool]) -> None:
    """Until the condition holds; what a server says meanwhile does not count."""
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with suppress(redis.RedisError):
            if condition():
                return
        time.sleep(0.02)
    raise AssertionError(condition)

"""Servers whose clock can be set, by Debian's libfaketime."""

from __future__ import annotations

import os
from pathlib import Path

from tests import servers
from tests.robustness.stage import Stage

FOLLOW = ("redis-6.2", "redis-8.2", "valkey-8.1")
"""The servers that follow it; others do not start under it, or read the time in other ways."""

TRUE = "+0"


def settable(stage: Stage, reading: str = TRUE) -> str:
    """A binary of the server whose clock reads what `set_clock` says, at first this.

    Raises Missing without libfaketime.
    """
    set_clock(stage, reading)
    script = stage.folder / "server-with-a-clock"
    script.write_text(
        "#!/bin/sh\n"
        f"LD_PRELOAD={_library()} FAKETIME_TIMESTAMP_FILE={_file(stage)} FAKETIME_NO_CACHE=1 "
        f'FAKETIME_DONT_FAKE_MONOTONIC=1 exec {stage.binary} "$@"\n'
    )
    script.chmod(0o755)
    return f"{script}"


def behind(stage: Stage, seconds: int) -> str:
    """A binary of the server whose clock is so far behind."""
    return settable(stage, f"-{seconds}s")


def set_clock(stage: Stage, reading: str) -> None:
    """Relative (`-2s`, `+1h`), or a moment at which it stands still (`2026-01-01 00:00:00`)."""
    new = stage.folder / "clock.new"
    new.write_text(f"{reading}\n")
    os.replace(new, _file(stage))


def _file(stage: Stage) -> Path:
    return stage.folder / "clock"


def _library() -> Path:
    found = sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
    if not found:
        raise servers.Missing("no libfaketime here: apt-get install libfaketime")
    return found[0]

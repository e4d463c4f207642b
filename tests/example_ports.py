"""The ports in spec/ports: how to run each, and whether that is possible here.

Node's client library comes out of the npm registry, once, when a test first asks for it; those of
the others have to be installed (on Debian: ruby-redis, php-redis).
"""

from __future__ import annotations

import fcntl
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from uniqfifo_spec.conformance.stdio import StdioTarget

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "spec" / "ports"
LUA = ROOT / "impl" / "uniqfifo" / "lua"

# The file of a port, which its interpreter runs; what shows that the client library is there.
_FILES = {"node": "node/port.mjs", "ruby": "ruby/port.rb", "php": "php/port.php"}
_SHOWS = {
    "ruby": ("-e", 'require "redis"'),
    "php": ("-r", 'extension_loaded("redis") || exit(1);'),
}
PORTS = tuple(_FILES)
WRONG = FOLDER / "node" / "port_nonatomic.mjs"

# What a language may take for false, for a number, or for the end of a line.
AWKWARD = (
    *("0", "00", "-0", "1.0", "1e3", "1e400", "007", "NaN", "null", "false", "9007199254740993"),
    *("\u2028", "\u2029", "\x85", "\x0b", "\x0c", "\x1c", "\r", "\n", "a\r\nb", "\x00", "\ufeff"),
    *('"', "\\", "\\u0000", " a ", "{b64}", "é", "e\u0301", "\uffff", "\U00010000", "x" * 65_536),
)


def file(port: str) -> Path:
    return FOLDER / _FILES[port]


def command(port: str) -> str:
    return f"{port} {file(port)}"


@contextmanager
def started(
    port: str, url: str, prefix: str, storage: str, *, command: str = ""
) -> Iterator[StdioTarget]:
    """A host of this port, or of what `command` runs in its place, from start to stop."""
    host = StdioTarget(command or f"{port} {file(port)}", url, prefix, storage)
    try:
        assert host.start() is None
        yield host
    finally:
        host.stop()


@cache
def why_missing(port: str) -> str:
    """Why this port cannot run here; empty if it can."""
    if shutil.which(port) is None:
        return f"no {port} on PATH"
    if port == "node":
        return _install(FOLDER / "node")
    found = subprocess.run([port, *_SHOWS[port]], capture_output=True, check=False)
    return "" if found.returncode == 0 else f"{port} has no Redis client library"


def _install(folder: Path) -> str:
    """Let npm install what the lock file names, unless it is there already."""
    if shutil.which("npm") is None:
        return "no npm on PATH"
    with (folder / "package.json").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # parallel workers wait here for the first one
        if (folder / "node_modules" / ".package-lock.json").exists():  # npm writes it last
            return ""
        npm = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        done = subprocess.run(npm, cwd=folder, capture_output=True, text=True, check=False)
    error = (done.stderr.strip().splitlines() or ["it said nothing"])[0]
    return "" if done.returncode == 0 else f"npm ci failed in {folder}: {error}"

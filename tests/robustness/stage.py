"""The servers of a run: started, stopped, broken and mended by its fault."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import redis

from tests import servers
from tests.cluster import ask, join, owner_of, start_cluster, start_node
from tests.faults import await_copy
from tests.proxy import LOOPBACK, Proxy
from tests.robustness.queues import FIRST, QUEUES
from tests.robustness.traffic import Traffic
from tests.sentinel import await_true, start_sentinel
from uniqfifo_spec.conformance.spawn import Server, spawn


class Stage:
    """What a fault may lay hands on.

    - `server`: the one that clients use, the primary where there are several
    - `replica`: what follows it, if anything does
    - `nodes`: all of a cluster
    - `proxy`: between the clients and the server, if the fault wants one
    - `link`: between the server and its replica, likewise
    - `target`: what the clients are told
    - `traffic`: the client processes
    - `fault`: the instants in between which the server may go back to an earlier value
    """

    def __init__(self, binary: str, folder: Path, args: tuple[str, ...]) -> None:
        self.binary = binary
        self.folder = folder
        self.args = args
        self.stack = ExitStack()
        self.target: dict[str, Any] = {"topology": "server"}
        self.replica: Server | None = None
        self.nodes: list[Server] = []
        self.proxy: Proxy | None = None
        self.link: Proxy
        self.traffic: Traffic
        self.fault: tuple[int, int] | None = None

    @contextmanager
    def may_roll_back(self) -> Iterator[None]:
        """What is done inside may take the server back: once, and not later than its end."""
        began = time.monotonic_ns()
        yield
        self.fault = (began, time.monotonic_ns())

    def spawn(self, *args: str, binary: str | None = None) -> Server:
        return self.stack.enter_context(spawn(binary or self.binary, *self.args, *args))

    @contextmanager
    def admin(self, **options: Any) -> Iterator[Any]:
        """A client for whoever has the queues: of the server, or of the cluster."""
        if self.nodes:
            alive = next(node for node in self.nodes if node.process.poll() is None)
            client: Any = redis.RedisCluster(LOOPBACK, alive.port, protocol=2)
        else:
            client = self.server.client(**options)
        with client:
            yield client

    def set(self, **settings: object) -> None:
        """CONFIG SET at the server; the underscores are hyphens."""
        with self.admin() as admin:
            for name, value in settings.items():
                admin.config_set(name.replace("_", "-"), value)

    def fill(self) -> None:
        """Put the first ids into every queue, as a LIST: so every run begins with migrations."""
        with self.admin() as admin:
            for key in QUEUES:
                if not admin.exists(key):
                    admin.rpush(key, *FIRST)

    def pending(self, key: str) -> tuple[bytes, ...]:
        """What the key holds, head first."""
        with self.admin() as admin:
            is_list = admin.type(key) == b"list"
            return tuple((admin.lrange if is_list else admin.zrange)(key, 0, -1))

    def kill(self) -> None:
        """As by kill -9."""
        self.server.process.kill()
        self.server.process.wait()

    def restart(self, *more: str) -> None:
        """The server again, at its port, with what it left on the disk. It may still be loading."""
        command = [*map(str, self.server.process.args), *more]  # type: ignore[union-attr]
        with (self.server.directory / "log").open("ab") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
        self.stack.callback(_end, process)
        self.server = replace(self.server, process=process)

    def promote(self) -> None:
        """The replica takes the place of the server, also behind the proxy."""
        assert self.replica
        with self.replica.client() as client:
            client.execute_command("SLAVEOF", "NO", "ONE")
        self.server = self.replica
        if self.proxy:
            self.proxy.target = self.server.port

    def await_up(self) -> None:
        """Until the server answers; the end of its loading is waited for."""

        def answers() -> bool:
            with self.server.client(socket_timeout=1, retry=None) as client:
                return bool(client.ping())

        await_true(answers)


@contextmanager
def staged(server: str, args: tuple[str, ...]) -> Iterator[Stage]:
    """An empty stage for this server. Raises Missing without its binary."""
    binary = servers.binary(server)
    if binary is None:
        raise servers.Missing(servers.why_missing(server))
    with tempfile.TemporaryDirectory(prefix="uniqfifo-") as folder:
        stage = Stage(f"{binary}", Path(folder), args)
        try:
            yield stage
        finally:
            stage.stack.close()


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()


def single(stage: Stage) -> None:
    """One server."""
    stage.server = stage.spawn()
    stage.target["port"] = stage.server.port


def fronted(stage: Stage) -> None:
    """One server behind a proxy."""
    single(stage)
    stage.proxy = stage.stack.enter_context(Proxy())
    stage.proxy.target = stage.server.port
    stage.target["port"] = stage.proxy.port


def follow(stage: Stage, port: int, binary: str | None = None) -> None:
    """Start a replica that has everything; it finds the primary at this port."""
    with stage.server.client() as source:
        source.config_set("repl-diskless-sync-delay", 0)
        stage.replica = stage.spawn("--slaveof", LOOPBACK, f"{port}", binary=binary)
        with stage.replica.client() as copy:
            await_copy(source, copy)


def clustered(stage: Stage) -> None:
    """Three primaries; the one that has `zset` has a replica."""
    nodes = start_cluster(stage.stack, stage.binary)
    stage.server = owner_of("zset", nodes)
    stage.replica = start_node(stage.stack, stage.binary)
    stage.nodes = [*nodes, stage.replica]
    join(stage.nodes)
    ask(stage.replica, "REPLICATE", ask(stage.server, "MYID"))
    with stage.server.client() as client:
        await_true(lambda: client.wait(1, 100) == 1)
    other = next(node for node in nodes if node is not stage.server)
    stage.target |= {"topology": "cluster", "port": other.port}


def supervised(stage: Stage) -> None:
    """A primary, its replica and a Sentinel that decides alone."""
    single(stage)
    follow(stage, stage.server.port)
    port = start_sentinel(stage.stack, stage.binary, stage.folder, stage.server)
    stage.target |= {"topology": "sentinel", "port": port}

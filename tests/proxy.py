"""A TCP proxy that spoils chosen exchanges: for tests of what a failed call means.

    with Proxy() as proxy:
        proxy.target = server.port          # both on loopback
        proxy.spoil(b"LPOP", Cut(3))        # the next request that holds these bytes
        ...                                 # a client at proxy.port
        assert proxy.count(b"LPOP") == 1    # what went out

One thread accepts, one serves each connection. A client sends a request in one piece, so a piece
that arrives is searched for the request; replies are spoiled whatever pieces they come in.
"""

from __future__ import annotations

import select
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

LOOPBACK = "127.0.0.1"


@dataclass(frozen=True)
class Swallow:
    """The server gets the request, and nobody gets its reply."""


@dataclass(frozen=True)
class Delay:
    """The reply comes late, by so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Cut:
    """The connection closes after so many bytes of the reply."""

    after: int


@dataclass(frozen=True)
class Reset:
    """The connection is reset at a stage of the exchange."""

    stage: str


REQUEST, FORWARDED, REPLY, DELIVERED = "request", "forwarded", "reply", "delivered"
STAGES = (REQUEST, FORWARDED, REPLY, DELIVERED)
"""Before the server got the request; when it has; before the client gets the reply; when it has."""

Fault = Swallow | Delay | Cut | Reset


class Proxy:
    """Listens at `port` for what is meant for `target`, another port."""

    def __init__(self) -> None:
        self._listener = socket.create_server((LOOPBACK, 0))
        self.port: int = self._listener.getsockname()[1]
        self.target = 0
        self._lock = threading.Lock()
        self._faults: list[tuple[bytes, Fault]] = []
        self._requests: list[bytes] = []
        self._refusing = False
        self._open: set[socket.socket] = set()
        self._threads = [threading.Thread(target=self._accept, daemon=True)]
        self._threads[0].start()

    def spoil(self, request: bytes, fault: Fault, times: int = 1) -> None:
        """Spoil the next exchanges whose request holds these bytes."""
        with self._lock:
            self._faults += [(request, fault)] * times

    def left(self) -> int:
        """How many of them are still to be spoiled."""
        with self._lock:
            return len(self._faults)

    def count(self, request: bytes) -> int:
        """How many requests held these bytes, spoilt or not."""
        with self._lock:
            return sum(request in piece for piece in self._requests)

    @contextmanager
    def refusing(self) -> Iterator[None]:
        """Every connection made meanwhile is reset before anything is sent."""
        self._refusing = True
        try:
            yield
        finally:
            self._refusing = False

    def drop(self) -> None:
        """Close all connections as a server does: in order, and without a word."""
        with self._lock:
            for connection in self._open:
                with suppress(OSError):  # the other side, or a fault, may have ended it already
                    connection.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """End it. Harmless twice."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self.drop()
        for thread in self._threads:
            thread.join(10)
        self._listener.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            if self._refusing:
                _reset(client)
                continue
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, client: socket.socket) -> None:
        with client, suppress(OSError), self._connection(client) as server:
            self._forward(client, server)  # until one side goes

    @contextmanager
    def _connection(self, client: socket.socket) -> Iterator[socket.socket]:
        with socket.create_connection((LOOPBACK, self.target)) as server:
            with self._lock:
                self._open.add(client)
            try:
                yield server
            finally:
                with self._lock:
                    self._open.discard(client)

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        fault: Fault | None = None
        passed = 0  # bytes of the spoilt reply
        while True:
            for readable in select.select([client, server], [], [])[0]:
                piece = readable.recv(65536)
                if not piece:
                    return
                if readable is client:
                    fault = self._fault_for(piece)
                    if fault == Reset(REQUEST):
                        return _reset(client)
                    server.sendall(piece)
                    if fault == Reset(FORWARDED):
                        return _reset(client)
                    continue
                match fault:
                    case Swallow():
                        continue
                    case Delay(seconds):
                        time.sleep(seconds)
                    case Cut(after) if passed + len(piece) >= after:
                        client.sendall(piece[: after - passed])
                        return None
                    case Cut():
                        passed += len(piece)
                    case Reset("reply"):
                        return _reset(client)
                if fault == Reset(DELIVERED):
                    with self._lock:  # who has the reply and asks `count` finds the reset done
                        client.sendall(piece)
                        return _reset(client)
                client.sendall(piece)

    def _fault_for(self, piece: bytes) -> Fault | None:
        with self._lock:
            self._requests.append(piece)
            for place, (request, fault) in enumerate(self._faults):
                if request in piece:
                    del self._faults[place]
                    return fault
        return None


def _reset(connection: socket.socket) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def free_port() -> int:
    """A port on which nobody listens at the moment."""
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])

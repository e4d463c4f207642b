"""A proxy in front of a server that swallows one answer, as a network that breaks would."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

How = Literal["closes", "silent"]


class Swallowing:
    """Passes everything on, both ways; the next answer after `swallow()` gets lost.

    How it gets lost: `closes` ends the connection, `silent` keeps it open and quiet for good.
    """

    def __init__(self, url: str, how: How) -> None:
        parts = urlsplit(url)
        if parts.scheme != "redis" or not parts.hostname:
            raise ValueError(f"the proxy needs a redis:// URL, not {url!r}")
        self._server = (parts.hostname, parts.port or 6379)
        self._how = how
        self._armed = threading.Event()
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        login, at, _ = parts.netloc.rpartition("@")
        here = f"{login}{at}127.0.0.1:{self._listener.getsockname()[1]}"
        self.url = urlunsplit(parts._replace(netloc=here))
        self.swallowed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def swallow(self) -> None:
        self._armed.set()

    def close(self) -> None:
        for each in (self._listener, *self._sockets):
            _close(each)

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                host, _ = self._listener.accept()
                server = socket.create_connection(self._server)
                self._sockets += [host, server]
                for work in (self._forth, self._back):
                    threading.Thread(target=work, args=(host, server), daemon=True).start()

    def _forth(self, host: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := host.recv(65_536):
                server.sendall(data)
        _close(server)

    def _back(self, host: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65_536):
                if not self._armed.is_set():
                    host.sendall(data)
                    continue
                self._armed.clear()
                self.swallowed += 1
                if self._how == "silent":
                    return
                break
        _close(host)


def _close(end: socket.socket) -> None:
    with suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


@contextmanager
def swallowing(url: str, how: How) -> Iterator[Swallowing]:
    """A proxy in front of the server at `url`, for as long as the context lasts."""
    proxy = Swallowing(url, how)
    try:
        yield proxy
    finally:
        proxy.close()

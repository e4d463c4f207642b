"""The clients of a worker: every way in which a user may come to a server, cluster or Sentinel.

A target is what a worker is told of where the servers are:

    {"topology": "server", "port": 6379, "options": {"socket_timeout": 0.5}}

`topology` is server, cluster or sentinel; the options are the client library's.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import redis
import redis.asyncio
import redis.asyncio.sentinel
import redis.sentinel

import uniqfifo.asyncio
from tests.proxy import LOOPBACK
from tests.robustness import wrong
from tests.sentinel import SERVICE
from uniqfifo import UniqueQueue
from uniqfifo.connect import connect, connect_async

KINDS = ("url", "url-asyncio", "plain", "plain-asyncio")
"""From our URLs; or made by the user, with the library's own defaults, its retries among them."""

_SCHEMES = {"server": "redis", "cluster": "redis+cluster", "sentinel": "redis+sentinel"}


def open_client(kind: str, target: dict[str, Any]) -> Any:
    """A client of one of `KINDS`."""
    topology, port, options = target["topology"], target["port"], target["options"]
    if kind.startswith("url"):
        path = f"/{SERVICE}" if topology == "sentinel" else ""
        login = f":{options['password']}@" if "password" in options else ""
        said = {name: value for name, value in options.items() if name != "password"}
        tls = "rediss" if said.pop("ssl", False) else "redis"
        scheme = _SCHEMES[topology].replace("redis", tls)
        url = f"{scheme}://{login}{LOOPBACK}:{port}{path}?{urlencode(said)}"
        return (connect_async if kind.endswith("asyncio") else connect)(url)
    library: Any = redis.asyncio if kind.endswith("asyncio") else redis
    options = {"protocol": 2, **options}
    if topology == "sentinel":
        return library.sentinel.Sentinel(
            [(LOOPBACK, port)], sentinel_kwargs={"protocol": 2}, **options
        ).master_for(SERVICE)
    return (library.RedisCluster if topology == "cluster" else library.Redis)(
        host=LOOPBACK, port=port, **options
    )


class Opened:
    """The one client of a process, and queues over it whose methods are all to be awaited."""

    def __init__(self, kind: str, target: dict[str, Any], implementation: str) -> None:
        self.is_asyncio = kind.endswith("asyncio")
        self._client: Any = None
        self._make = lambda: open_client(kind, target)
        self._implementation = implementation

    def queue(self, key: str, storage: str) -> Any:
        if self._client is None:
            self._client = self._make()  # in the loop in which it will be used
        if self._implementation != "ours":
            return Awaited(wrong.IMPLEMENTATIONS[self._implementation](self._client, key, storage))
        if self.is_asyncio:
            return uniqfifo.asyncio.UniqueQueue(self._client, key, storage)
        return Awaited(UniqueQueue(self._client, key, storage))


class Awaited:
    """A sync queue with the methods of an asyncio one. They block, each in a thread of its own."""

    def __init__(self, queue: Any) -> None:
        self._queue = queue

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._queue, name)

        async def call(*arguments: Any) -> Any:
            return method(*arguments)

        return call

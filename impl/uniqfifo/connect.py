"""Clients from URLs: of one server, of a cluster, or of whichever server Sentinel names.

| URL | |
| --- | --- |
| `redis://[user:password@]host[:port][/db]` | one server; `rediss://` over TLS |
| `unix://[user:password@]/path[?db=n]` | one server, over a Unix socket |
| `redis+cluster://[…@]host[:port][,host…]` | a cluster, asked at these nodes; `rediss+cluster://` |
| `redis+sentinel://[…@]host[:port][,host…]/service[/db]` | Sentinels at these hosts; `rediss+…` |

Each may end in `?option=value&…`: options of redis-py's client. With Sentinel, login and options
are for the servers; `sentinel_username=` and `sentinel_password=` are for the Sentinels.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from types import ModuleType
from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

import redis
import redis.asyncio

from uniqfifo._exchange import Client, meaning_of, sentinel_of

DEFAULTS: Mapping[str, Any] = {
    "protocol": 2,
    "socket_timeout": 5.0,
    "socket_connect_timeout": 5.0,
    "retry": None,
}
"""What a URL need not say: RESP2, which every server speaks, timeouts in seconds, and that the
client itself tries to connect only once: a call does so again for a second, see `_once`."""

# A call waits for a free connection, so long in seconds. redis-py has no such pool for clusters and
# Sentinel, so there the limit is one that is not met.
_BLOCKING = {"max_connections": 50, "timeout": 5.0}
_ENDLESS = {"max_connections": 10_000}

_SEVERAL = re.compile(
    r"(?P<scheme>rediss?)\+(?P<kind>cluster|sentinel)://(?:(?P<login>[^/?]*)@)?(?P<hosts>[^/?]+)"
    r"(?:/(?P<path>[^?]*))?(?P<query>\?.*)?"
)
_ENCODE = "in a password / ? # and @ are written %2F %3F %23 and %40"
_PORTS = {"cluster": 6379, "sentinel": 26379}


def connect(url: str, **options: Any) -> Client:
    """A sync client. `options` are redis-py's, and come before those of the URL.

    Raises ValueError for a URL that cannot be read, and NotExecuted for a cluster that cannot be
    reached. Whoever called it closes the client, with `close`.
    """
    return opener(url, **options)()


def connect_async(url: str, **options: Any) -> Client:
    """An asyncio client: see `connect`. Closed with `close_async`."""
    return opener_async(url, **options)()


def opener(url: str, **options: Any) -> Callable[[], Client]:
    """`connect`, put off: it reads the URL and returns what makes the client."""
    return _opener(redis, url, options)


def opener_async(url: str, **options: Any) -> Callable[[], Client]:
    """`connect_async`, put off: it reads the URL and returns what makes the client."""
    return _opener(redis.asyncio, url, options)


def close(client: Client) -> None:
    """Close a client that `connect` made."""
    for each in _and_its_sentinels(client):
        each.close()


async def close_async(client: Client) -> None:
    """Close a client that `connect_async` made."""
    for each in _and_its_sentinels(client):
        await each.aclose()


def _and_its_sentinels(client: Client) -> list[Client]:
    manager = sentinel_of(client)
    return [client, *(manager.sentinels if manager else ())]


def _opener(library: ModuleType, url: str, options: Mapping[str, Any]) -> Callable[[], Client]:
    match = _SEVERAL.fullmatch(url)
    if match is None:
        options = {**DEFAULTS, **_BLOCKING, **_parsed(library, url), **options}
        return partial(_one, library, options)

    scheme, kind, login, hosts, path, query = match.groups(default="")
    service, _, db = path.partition("/") if kind == "sentinel" else ("", "", path)
    said = _parsed(library, f"{scheme}://{login}@host/{db}{query}")
    said = {name: said[name] for name in said if name not in ("host", "connection_class")}
    options = {**DEFAULTS, **_ENDLESS, **said, "ssl": scheme == "rediss", **options}
    addresses = [_address(host, _PORTS[kind]) for host in hosts.split(",")]
    if kind == "cluster":
        if options.pop("db", 0):
            raise ValueError("a cluster has no databases but 0")
        return partial(_cluster, library, addresses, options)
    if not service:
        raise ValueError("a Sentinel URL names the service: redis+sentinel://host:port/service")
    return partial(_by_sentinel, library, addresses, unquote(service), options)


def _parsed(library: ModuleType, url: str) -> dict[str, Any]:
    """What redis-py reads in a URL of one server. What it would pass over is refused."""
    parts = urlsplit(url)
    if parts.fragment:
        raise ValueError(f"the URL has a part behind #; {_ENCODE}")
    if "redis" in parts.scheme and not re.fullmatch(r"/?\d*/?", parts.path):
        raise ValueError(f"the database in the URL is no number; {_ENCODE}")
    _port(parts)
    said: dict[str, Any] = library.connection.parse_url(url)
    return said


def _address(host: str, default_port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{host}")
    if not parts.hostname:
        raise ValueError(f"the URL has an address without a host; {_ENCODE}")
    return parts.hostname, _port(parts) or default_port


def _port(parts: SplitResult) -> int | None:
    try:
        return parts.port
    except ValueError:  # it would quote what may be half a password
        raise ValueError(f"the port in the URL is no number up to 65535; {_ENCODE}") from None


def _one(library: ModuleType, options: Mapping[str, Any]) -> Client:
    with _of_the_url():
        client = library.Redis.from_pool(library.BlockingConnectionPool(**options))
        _try_options(client)
    return client


def _cluster(
    library: ModuleType, addresses: list[tuple[str, int]], options: Mapping[str, Any]
) -> Client:
    nodes = [library.cluster.ClusterNode(*address) for address in addresses]
    try:
        return library.cluster.RedisCluster(startup_nodes=nodes, **options)
    except Exception as error:
        raise meaning_of(error, sent=False) from error


def _by_sentinel(
    library: ModuleType,
    addresses: list[tuple[str, int]],
    service: str,
    options: Mapping[str, Any],
) -> Client:
    own, shared = "sentinel_", ("protocol", "retry", "socket_", "ssl")
    for_servers = {name: options[name] for name in options if not name.startswith(own)}
    for_sentinels = {
        name.removeprefix(own): options[name] for name in options if name.startswith((own, *shared))
    }
    manager = library.sentinel.Sentinel
    with _of_the_url():
        sentinel = manager(addresses, sentinel_kwargs=for_sentinels, **for_servers)
        client = sentinel.master_for(service)
        for each in _and_its_sentinels(client):
            _try_options(each)
    return client


def _try_options(client: Client) -> None:
    """Make a connection, and do not connect it: only then does redis-py look at its options."""
    pool = client.connection_pool
    pool.connection_class(**pool.connection_kwargs)


@contextmanager
def _of_the_url() -> Iterator[None]:
    """Whatever fails before anything is connected is an option's fault."""
    try:
        yield
    except TypeError as error:
        raise ValueError(f"the URL has an option that the client does not know: {error}") from None
    except Exception as error:
        raise ValueError(f"the URL has an option that the client refuses: {error}") from None

"""Where a check runs: a server, and the judge's own hands on it.

The judge reads Redis itself, through a connection that no implementation sees, so that none can
pass by echoing. On a server that it did not start it touches only keys under its own prefix.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fractions import Fraction
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from uniqfifo.connect import close, connect
from uniqfifo.refusals import without_password
from uniqfifo_spec.commands import Command
from uniqfifo_spec.conformance.spawn import spawn
from uniqfifo_spec.keyspace import List, Other, Score, Value, ZSet

PREFIX = "{uniqfifo-check}"
"""What every key of a check begins with. The braces keep them together in a cluster."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What the judge found at a key."""

    value: Value
    has_ttl: bool = False


class Bench:
    """A server under check. `name` is what it calls itself, `url` where it is (None: embedded), and
    `source` the Python expression that gets at it again, for reproducers. `judge` is the judge's
    own client; `client` is for hosts that want one handed over.

    `ours` tells whether the check started it, and so may configure it and flush its scripts.
    `clock`, where not None, sets what its TIME answers, in microseconds.
    """

    def __init__(
        self,
        judge: redis.Redis,
        client: redis.Redis,
        source: str,
        *,
        url: str | None = None,
        ours: bool = False,
        clock: Callable[[int], None] | None = None,
    ) -> None:
        self.judge = judge
        self.client = client
        self.source = source
        self.url = url
        self.ours = ours
        self.clock = clock
        self.name = server_name(self.judge) if url else "embedded server"

    def now(self) -> int:
        """The server's clock in microseconds."""
        seconds, microseconds = self.judge.time()
        return int(seconds) * 1_000_000 + int(microseconds)

    def time_calls(self) -> int:
        """How many TIME commands the server has run, in scripts or not."""
        return int(self.judge.info("commandstats")["cmdstat_time"]["calls"])

    def switch_off_compact_encodings(self) -> None:
        """Let small LISTs and ZSETs be stored as large ones are. For a server of ours."""
        for name in ("list-max-ziplist-size", "list-max-listpack-size"):
            self._configure(name, 1)
        for name in ("zset-max-ziplist-entries", "zset-max-listpack-entries"):
            self._configure(name, 0)

    def _configure(self, name: str, value: int) -> None:
        # One of the two names is unknown to each server, which is how it says so.
        with suppress(redis.ResponseError):
            self.judge.config_set(name, value)

    def put(self, key: str, value: Value, ttl: int | None = None) -> None:
        """Make `key` hold exactly `value`; `ttl` in seconds."""
        pipeline = self.judge.pipeline(transaction=False)
        pipeline.delete(key)
        match value:
            case List(ids):
                pipeline.rpush(key, *ids)
            case ZSet(entries):
                for score, id in entries:
                    pipeline.execute_command("ZADD", key, repr(score), id)
            case Other("set"):
                pipeline.sadd(key, "foreign")
            case Other("hash"):
                pipeline.hset(key, "field", "foreign")
            case Other():
                pipeline.set(key, "foreign")
            case None:
                pass
        if ttl:
            pipeline.expire(key, ttl)
        pipeline.execute()

    def seen(self, *keys: str) -> list[Seen]:
        """Look at each key without changing it. Nobody may change one meanwhile."""
        pipeline = self.judge.pipeline(transaction=False)
        for key in keys:
            pipeline.type(key)
        kinds = pipeline.execute()
        for key, kind in zip(keys, kinds, strict=True):
            if kind != b"none":
                pipeline.pttl(key)
            if kind == b"list":
                pipeline.lrange(key, 0, -1)
            if kind == b"zset":
                pipeline.zrange(key, 0, -1, withscores=True)
        replies = iter(pipeline.execute())
        return [_seen(kind, replies) for kind in kinds]

    def run(self, command: Command, key: str) -> None:
        """Run one of the model's commands as a foreign writer would."""
        self.judge.execute_command(*command.wire(key))

    @contextmanager
    def prefix(self) -> Iterator[str]:
        """A fresh prefix that nobody else uses; what is under it is removed in the end."""
        prefix = f"{PREFIX}-{os.urandom(6).hex()}"
        try:
            yield prefix
        finally:
            with suppress(redis.ConnectionError, redis.TimeoutError):  # the server has gone
                for key in self.keys(prefix):
                    self.judge.delete(key)

    def answers(self) -> bool:
        """Whether the server is still there."""
        try:
            return bool(self.judge.ping())
        except redis.RedisError:
            return False

    def keys(self, prefix: str) -> list[bytes]:
        """Every key under `prefix`."""
        return sorted(self.judge.scan_iter(match=f"{prefix}*", count=1000))


def _seen(kind: bytes, replies: Iterator[Any]) -> Seen:
    """What is at a key of this type; of the replies, PTTL and LRANGE or ZRANGE are its own."""
    if kind == b"none":
        return Seen(None)
    expires = next(replies) >= 0
    match kind:
        case b"list":
            return Seen(List(tuple(next(replies))), expires)
        case b"zset":
            entries = tuple((_exact(score), id) for id, score in next(replies))
            return Seen(ZSet(entries), expires)
        case _:
            return Seen(Other(kind.decode()), expires)


def _exact(score: float) -> Score:
    return int(score) if float(score).is_integer() else float(score)


def server_name(client: redis.Redis) -> str:
    """What the server calls itself, such as `Redis 7.0.15`."""
    info: dict[str, Any] = client.info("server")
    if "valkey_version" in info:
        return f"Valkey {info['valkey_version']}"
    return f"Redis {info['redis_version']}"


@contextmanager
def embedded() -> Iterator[Bench]:
    """fakeredis, in this process, with a clock that stands still until it is set."""
    import lupa  # noqa: F401  # without it fakeredis does not know EVAL
    from fakeredis import FakeRedis, FakeServer

    microseconds = 0

    def set_clock(now: int) -> None:
        nonlocal microseconds
        microseconds = now

    # A fraction, since a float of seconds does not hold every microsecond.
    clock = SimpleNamespace(time=lambda: Fraction(microseconds, 1_000_000))
    with patch("fakeredis.commands_mixins.server_mixin.time", clock):
        server = FakeServer()
        judge, client = (FakeRedis(server=server, protocol=2) for _ in range(2))
        yield Bench(judge, client, "embedded()", ours=True, clock=set_clock)


@contextmanager
def at_url(url: str) -> Iterator[Bench]:
    """A server that somebody else runs, or a cluster: a URL as in `uniqfifo.connect`.

    Raises redis.RedisError or uniqfifo.NotExecuted if it cannot be reached.
    """
    with _bench(url, f"at_url({without_password(url)!r})") as bench:
        yield bench


@contextmanager
def spawned(binary: str | os.PathLike[str], *args: str) -> Iterator[Bench]:
    """A private server, for this check alone."""
    source = f"spawned({', '.join(map(repr, (os.fspath(binary), *args)))})"
    with spawn(binary, *args) as server, _bench(server.url, source, ours=True) as bench:
        yield bench


@contextmanager
def _bench(url: str, source: str, ours: bool = False) -> Iterator[Bench]:
    # Whatever the URL asks for, the judge wants bytes.
    judge, client = raw_client(url), connect(url)
    try:
        yield Bench(_node_of(judge), client, source, url=url, ours=ours)
    finally:
        close(client)
        close(judge)


def raw_client(url: str) -> Any:
    """A client whose replies are bytes, and that sends every command once."""
    never = Retry(NoBackoff(), 0)
    return connect(url, decode_responses=False, socket_timeout=30, retry=never)


def _node_of(client: Any) -> redis.Redis:
    """In a cluster: the node that has every key of this check, whose prefix names its slot."""
    if hasattr(client, "get_node_from_key"):
        client = client.get_node_from_key(PREFIX).redis_connection
    return client  # type: ignore[no-any-return]

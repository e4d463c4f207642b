"""What lies at a queue's key: facts for an operator, read by commands that change nothing.

They are read one after the other. On a queue that is in use they are of slightly different moments.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from uniqfifo._calls import Calls
from uniqfifo._exchange import Client, exchange
from uniqfifo._once import call
from uniqfifo._route import route_to
from uniqfifo._steps import Steps, run
from uniqfifo.errors import NotExecuted, QueueError, Reason
from uniqfifo.refusals import is_refusal_of_the_call, server_text
from uniqfifo.storage import Storage, encode_key

Score = int | float

_PAGE = 1000  # ids in one reply
_PLACES_END = 2**32  # no LIST is so long, and the clock, in microseconds, passed it in 1970
TOP_SCORE = 2**53 - 1
"""The last score that zset-strict assigns."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What a key holds. A fact is None where there is none, and where `unknown` names it."""

    key: str
    unknown: dict[str, str]
    """Facts that the server refused to tell, and what it said."""
    replica_of: str | None = None
    """The primary, as host:port, of a server that is a replica."""
    type: str | None = None
    """The answer of TYPE: `none` for an absent key."""
    pending: int | None = None
    """How many ids, copies counted."""
    copies: int | None = None
    """How many of them are copies of an id that stands before them."""
    ttl: int | None = None
    """Milliseconds until the key expires."""
    head: bytes | None = None
    """The id that leaves first."""
    migrated: int | None = None
    """How many scores are places in a LIST, from 1 on, as migration assigns them."""
    clocked: int | None = None
    """How many scores are a clock's, in microseconds since 1970."""
    top: Score | None = None
    """The highest score."""
    ahead: Score | None = None
    """By how many microseconds that is ahead of the server's clock; 0 if it is not."""
    memory: int | None = None
    """Bytes, as the server estimates them."""

    @property
    def usable_by(self) -> list[Storage]:
        """The storages that can use the key as it is; none of them if its type is not known."""
        return [storage for storage in Storage if self.type in ("none", storage.key_type)]


def look(client: Client, key: str) -> Facts:
    """Read the facts of one key over a sync client.

    Holds every distinct id of a LIST in memory for a while, to count the copies. Raises NotExecuted
    or OutcomeUnknown if there is no server that answers.
    """
    reader = _Reader(client, key)
    reader.read()
    return Facts(key, reader.unknown, **reader.told)


def replica_of(client: Client, key: str) -> str | None:
    """The primary, as host:port, if who serves the key is a replica; None too if it does not tell.

    Raises as `look` does.
    """
    reader = _Reader(client, key)
    reader.read_role()
    return reader.told.get("replica_of")


class _Reader:
    def __init__(self, client: Client, key: str) -> None:
        self._calls = Calls(key, Storage.LIST)
        self._key = encode_key(key)
        self._route = route_to(client, key, awaited=False)
        self.told: dict[str, Any] = {}
        self.unknown: dict[str, str] = {}

    def read(self) -> None:
        with self._facts("type"):
            # A whole call: in a cluster it finds out who has the key.
            self.told["type"] = call(self._route, self._calls.type())
        self.read_role()
        with self._facts("ttl"):
            ttl = self._ask(b"PTTL", self._key)
            self.told["ttl"] = ttl if ttl >= 0 else None
        match self.told.get("type"):
            case "none":
                self.told["pending"] = 0
                return
            case "list":
                self._read_list()
            case "zset":
                self._read_zset()
        with self._facts("memory"):
            self.told["memory"] = self._ask(b"MEMORY", b"USAGE", self._key)

    def read_role(self) -> None:
        with self._facts("replica_of"):
            match self._ask(b"ROLE"):
                case [b"slave", host, port, *_]:
                    self.told["replica_of"] = f"{host.decode()}:{port}"

    def _read_list(self) -> None:
        with self._facts("pending"):
            self.told["pending"] = self._ask(b"LLEN", self._key)
        with self._facts("head", "copies"):
            distinct: set[bytes] = set()
            seen = 0
            while page := self._ask(b"LRANGE", self._key, seen, seen + _PAGE - 1):
                if not seen:
                    self.told["head"] = page[0]
                distinct.update(page)
                seen += len(page)
            self.told["copies"] = seen - len(distinct)

    def _read_zset(self) -> None:
        key = self._key
        with self._facts("pending"):
            self.told["pending"] = self._ask(b"ZCARD", key)
        with self._facts("head"):
            self.told["head"] = next(iter(self._ask(b"ZRANGE", key, 0, 0)), None)
        with self._facts("migrated", "clocked"):
            self.told["migrated"] = self._ask(b"ZCOUNT", key, 1, b"(%d" % _PLACES_END)
            self.told["clocked"] = self._ask(b"ZCOUNT", key, _PLACES_END, TOP_SCORE)
        with self._facts("top", "ahead"):
            top = _score(self._ask(b"ZREVRANGE", key, 0, 0, b"WITHSCORES"))
            self.told["top"] = top
        with self._facts("ahead"):
            seconds, microseconds = self._ask(b"TIME")  # after the score, so that it is later
            if self.told.get("top") is not None:
                now = int(seconds) * 1_000_000 + int(microseconds)
                self.told["ahead"] = max(0, self.told["top"] - now)

    def _ask(self, *words: bytes | int) -> Any:
        def steps() -> Steps[Any]:
            way = yield from self._route.way()
            return (yield from exchange(way.lender, words, way.asking))

        return run(steps())

    @contextmanager
    def _facts(self, *names: str) -> Iterator[None]:
        """If the server refuses what is asked inside, these facts are unknown, and others not."""
        try:
            yield
        except QueueError as error:
            refusal = error.__cause__
            if refusal is None or not is_refusal_of_the_call(refusal):
                raise
            if isinstance(error, NotExecuted) and error.reason is Reason.CONNECTION:
                raise  # it was the connection that was refused
            self.unknown.update(dict.fromkeys(names, server_text(refusal)))


def _score(reply: list[Any]) -> Score | None:
    """The score in an answer of one id: flat, or in pairs under RESP3."""
    if not reply:
        return None
    _, text = reply if len(reply) == 2 else reply[0]
    score = float(text)
    return int(score) if score.is_integer() else score

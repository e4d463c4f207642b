"""The Redis commands that the designs use, as pure functions on a key's value.

A command is a small frozen object. `apply(value)` returns (reply, next value); an error reply is an
`Error`, returned like any other reply. `wire(key)` is the same command as a client sends it.
Source: the Redis command reference; the tests drive every one of these against real servers.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.keyspace import List, Score, Set, Value, ZSet, kind, pending


@dataclass(frozen=True, slots=True)
class Error:
    """An error reply, or a script's own refusal: its first word."""

    code: str


WRONGTYPE = Error("WRONGTYPE")

Reply = int | bytes | str | None | tuple[Any, ...] | Error
Entries = tuple[tuple[Score, Id], ...]


class Command:
    """One command on one key. `KEY` is the place of that key among those of the design."""

    __slots__ = ()
    KEY: ClassVar[int] = 0

    def apply(self, value: Value) -> tuple[Reply, Value]:
        raise NotImplementedError

    def wire(self, key: Any) -> tuple[Any, ...]:
        raise NotImplementedError


# The three below say once what all commands of a type share: a wrong type is answered with
# WRONGTYPE, an absent key counts as empty, and a collection that became empty is absent.


class ListCommand(Command):
    __slots__ = ()

    def apply(self, value: Value) -> tuple[Reply, Value]:
        if not (value is None or isinstance(value, List)):
            return WRONGTYPE, value
        reply, ids = self.on(pending(value))
        return reply, List(ids) if ids else None

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        raise NotImplementedError


class ZSetCommand(Command):
    __slots__ = ()

    def apply(self, value: Value) -> tuple[Reply, Value]:
        if not (value is None or isinstance(value, ZSet)):
            return WRONGTYPE, value
        reply, entries = self.on(value.entries if value else ())
        return reply, ZSet(entries) if entries else None

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        raise NotImplementedError


class SetCommand(Command):
    """Only a design with a companion set uses these: the set is its second key."""

    __slots__ = ()
    KEY = 1

    def apply(self, value: Value) -> tuple[Reply, Value]:
        if not (value is None or isinstance(value, Set)):
            return WRONGTYPE, value
        reply, ids = self.on(value.ids if value else ())
        return reply, Set(tuple(sorted(ids))) if ids else None

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class LInsertBefore(ListCommand):
    """The new length; 0 for an absent key, -1 if the pivot is not in the list."""

    pivot: Id
    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        if self.pivot not in ids:
            return (-1 if ids else 0), ids
        at = ids.index(self.pivot)
        return len(ids) + 1, (*ids[:at], self.element, *ids[at:])

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LINSERT", key, "BEFORE", self.pivot, self.element)


@dataclass(frozen=True, slots=True)
class RPush(ListCommand):
    """The new length."""

    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return len(ids) + 1, (*ids, self.element)

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("RPUSH", key, self.element)


@dataclass(frozen=True, slots=True)
class LRemFirst(ListCommand):
    """Removes the leftmost copy, and answers how many that were."""

    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        if self.element not in ids:
            return 0, ids
        at = ids.index(self.element)
        return 1, ids[:at] + ids[at + 1 :]

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LREM", key, 1, self.element)


@dataclass(frozen=True, slots=True)
class LPop(ListCommand):
    """The leftmost element, or nil."""

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return (ids[0], ids[1:]) if ids else (None, ids)

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LPOP", key)


@dataclass(frozen=True, slots=True)
class LRangeAll(ListCommand):
    """Every element."""

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return ids, ids

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LRANGE", key, 0, -1)


@dataclass(frozen=True, slots=True)
class ZAddNX(ZSetCommand):
    """1 if added; 0, and the old score kept, if the id was there."""

    score: Score
    id: Id

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        if any(id == self.id for _, id in entries):
            return 0, entries
        return 1, tuple(sorted((*entries, (self.score, self.id))))

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZADD", key, "NX", self.score, self.id)


@dataclass(frozen=True, slots=True)
class ZRangeFirst(ZSetCommand):
    """The first id, or none, as a tuple."""

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        return tuple(id for _, id in entries[:1]), entries

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZRANGE", key, 0, 0)


@dataclass(frozen=True, slots=True)
class ZRangeAll(ZSetCommand):
    """Every id, in leaving order."""

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        return tuple(id for _, id in entries), entries

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZRANGE", key, 0, -1)


@dataclass(frozen=True, slots=True)
class ZLastScore(ZSetCommand):
    """The last entry as (id, score), or ()."""

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        return ((entries[-1][1], entries[-1][0]) if entries else ()), entries

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZREVRANGE", key, 0, 0, "WITHSCORES")


@dataclass(frozen=True, slots=True)
class ZRem(ZSetCommand):
    """How many were removed."""

    id: Id

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        kept = tuple(entry for entry in entries if entry[1] != self.id)
        return len(entries) - len(kept), kept

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZREM", key, self.id)


@dataclass(frozen=True, slots=True)
class SAdd(SetCommand):
    """1 if added, 0 if it was there."""

    id: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return (0, ids) if self.id in ids else (1, (*ids, self.id))

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("SADD", key, self.id)


@dataclass(frozen=True, slots=True)
class SRem(SetCommand):
    """How many were removed."""

    id: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return ids.count(self.id), tuple(id for id in ids if id != self.id)

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("SREM", key, self.id)


@dataclass(frozen=True, slots=True)
class Type(Command):
    """The name of the value's type."""

    def apply(self, value: Value) -> tuple[Reply, Value]:
        return kind(value), value

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("TYPE", key)


@dataclass(frozen=True, slots=True)
class Del(Command):
    """How many keys were removed."""

    def apply(self, value: Value) -> tuple[Reply, Value]:
        return (0 if value is None else 1), None

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("DEL", key)


@dataclass(frozen=True, slots=True)
class Time(Command):
    """The server's clock, as one whole number of microseconds: whoever runs a program reads it."""

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("TIME",)

"""The commands that only wrong designs, and two right ones, use."""

from dataclasses import dataclass
from typing import Any

from uniqfifo_spec.commands import Entries, ListCommand, Reply, ZSetCommand
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.keyspace import Score


@dataclass(frozen=True, slots=True)
class LPush(ListCommand):
    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return len(ids) + 1, (self.element, *ids)

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LPUSH", key, self.element)


@dataclass(frozen=True, slots=True)
class RPop(ListCommand):
    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return (ids[-1], ids[:-1]) if ids else (None, ids)

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("RPOP", key)


@dataclass(frozen=True, slots=True)
class LRemLast(ListCommand):
    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        if self.element not in ids:
            return 0, ids
        at = len(ids) - 1 - ids[::-1].index(self.element)
        return 1, ids[:at] + ids[at + 1 :]

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LREM", key, -1, self.element)


@dataclass(frozen=True, slots=True)
class LRemAll(ListCommand):
    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        return ids.count(self.element), tuple(id for id in ids if id != self.element)

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LREM", key, 0, self.element)


@dataclass(frozen=True, slots=True)
class LInsertAfter(ListCommand):
    pivot: Id
    element: Id

    def on(self, ids: Pending) -> tuple[Reply, Pending]:
        if self.pivot not in ids:
            return (-1 if ids else 0), ids
        at = ids.index(self.pivot) + 1
        return len(ids) + 1, (*ids[:at], self.element, *ids[at:])

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("LINSERT", key, "AFTER", self.pivot, self.element)


@dataclass(frozen=True, slots=True)
class ZAdd(ZSetCommand):
    """The score of an id that is there is replaced."""

    score: Score
    id: Id

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        others = tuple(entry for entry in entries if entry[1] != self.id)
        return int(others == entries), tuple(sorted((*others, (self.score, self.id))))

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZADD", key, self.score, self.id)


@dataclass(frozen=True, slots=True)
class ZRangeAll(ZSetCommand):
    """Every (score, id)."""

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        return entries, entries

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZRANGE", key, 0, -1, "WITHSCORES")


@dataclass(frozen=True, slots=True)
class ZPopMin(ZSetCommand):
    """The first entry as (id, score), which leaves, or ()."""

    def on(self, entries: Entries) -> tuple[Reply, Entries]:
        return ((entries[0][1], entries[0][0]) if entries else ()), entries[1:]

    def wire(self, key: Any) -> tuple[Any, ...]:
        return ("ZPOPMIN", key)

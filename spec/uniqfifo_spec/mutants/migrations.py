"""Start gone wrong."""

from collections.abc import Callable, Iterable

from uniqfifo_spec.commands import WRONGTYPE, Del, LRangeAll, Time, Type
from uniqfifo_spec.designs import Program, migrate
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.keyspace import Score
from uniqfifo_spec.mutants.commands import ZAdd

Entries = Iterable[tuple[Score, Id]]
BATCH = 500  # ids that one ZADD takes


def nothing() -> Program:
    """Looks at no key."""
    yield from ()
    return None


def migrating(entries: Callable[[Pending, int], Entries]) -> Callable[[], Program]:
    """A migration that makes other entries of the ids. Also given: the clock's reading."""

    def program() -> Program:
        found = yield Type()
        if found in ("none", "zset"):
            return None
        if found != "list":
            return WRONGTYPE
        ids = yield LRangeAll()
        now = yield Time()
        yield Del()
        for score, id in entries(ids, now):
            yield ZAdd(score, id)
        return None

    return program


def overwriting(kind: str) -> Callable[[], Program]:
    """A migration that takes a key of this kind for rubbish."""

    def program() -> Program:
        if (yield Type()) == kind:
            yield Del()
            return None
        return (yield from migrate())

    return program


def _first_copies(ids: Pending) -> list[tuple[int, Id]]:
    return [(ids.index(id) + 1, id) for id in dict.fromkeys(ids)]


def last_occurrence(ids: Pending, now: int) -> Entries:
    return ((place, id) for place, id in enumerate(ids, start=1))


def reversed_order(ids: Pending, now: int) -> Entries:
    return ((len(ids) - place, id) for place, id in _first_copies(ids))


def off_by_one(ids: Pending, now: int) -> Entries:
    return ((place - 1, id) for place, id in _first_copies(ids))


def without_gaps(ids: Pending, now: int) -> Entries:
    return enumerate(dict.fromkeys(ids), start=1)


def scored_by_time(ids: Pending, now: int) -> Entries:
    return ((now // 1_000_000 * 1_000_000 + place, id) for place, id in _first_copies(ids))


def first_batch_only(ids: Pending, now: int) -> Entries:
    return _first_copies(ids)[:BATCH]


def full_batches_only(ids: Pending, now: int) -> Entries:
    found = _first_copies(ids)
    return found[: len(found) // BATCH * BATCH]


def one_lost_at_each_border(ids: Pending, now: int) -> Entries:
    return (each for number, each in enumerate(_first_copies(ids)) if (number + 1) % (BATCH + 1))

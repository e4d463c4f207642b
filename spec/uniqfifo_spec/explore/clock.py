"""The server's clock, as far as a queue can tell.

Only the order among scores and clock matters, so a state keeps ranks, and the next reading may fall
on each rank, between two, below all and above all. One distance matters too: `zset-strict` assigns
highest + 1, and no whole microsecond lies between these two; so neighbours stay neighbours. Of the
past readings a state keeps only what they rule out: the earliest that may come next.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Literal

from uniqfifo_spec.designs import Keys
from uniqfifo_spec.keyspace import Score, Value, ZSet

Axiom = Literal["strict", "nondecreasing", "any"]
"""What is assumed of successive readings: each later than the last, never earlier, or nothing."""

EPOCH = 10**6
"""No reading is earlier. Migration assigns scores 1, 2, 3, …: below every reading."""

LIMIT = 2**52
"""No rank is as high. Scores from here on, near the last exact double, keep their value."""

GAP = 4
"""The distance of two ranks that are not neighbours: room for a reading that is neither's."""


def earliest_after(axiom: Axiom, reading: int) -> int:
    """The earliest reading that may follow this one."""
    return {"strict": reading + 1, "nondecreasing": reading, "any": EPOCH}[axiom]


def readings(keys: Keys, earliest: int) -> list[int]:
    """What TIME may read next: one reading per rank and gap, the latest first. Takes ranks."""
    ranks = [int(rank) for rank in _ranks(keys)]
    if not ranks:
        return [EPOCH + GAP]
    between = [low + GAP // 2 for low, high in pairwise(ranks) if high - low > 1]
    every = [*ranks, *between, ranks[0] - GAP // 2, ranks[-1] + GAP]
    return sorted((reading for reading in every if reading >= earliest), reverse=True)


def ticks(earliest: int, number: int) -> list[int]:
    """The same for a clock that knows only so many readings, and for scores that are not ranked."""
    return [*reversed(range(earliest, EPOCH + number))]


def ranked(keys: Keys, earliest: int) -> tuple[Keys, int]:
    """The same order among scores and clock, in ranks."""
    order: dict[Score, int] = {}
    rank = EPOCH
    last: Score = 0
    for score in _ranks(keys):
        rank += 1 if score - last == 1 else GAP
        order[score] = rank
        last = score
    # Between two ranks it is all the same where the clock stands: right after the lower one.
    passed = [rank + 1 for score, rank in order.items() if score < earliest]
    earliest = order.get(earliest, max(passed, default=EPOCH))
    early = sorted({score for score in _scores(keys) if score < EPOCH})
    order |= {score: rank for rank, score in enumerate(early, start=1)}
    return tuple(_renamed(value, order) for value in keys), earliest


def _scores(keys: Keys) -> Iterator[Score]:
    for value in keys:
        if isinstance(value, ZSet):
            yield from (score for score, _ in value.entries)


def _ranks(keys: Keys) -> list[Score]:
    """The scores that are readings of the clock, or computed from one."""
    return sorted({score for score in _scores(keys) if EPOCH <= score < LIMIT})


def _renamed(value: Value, order: dict[Score, int]) -> Value:
    if not isinstance(value, ZSet):
        return value
    return ZSet(tuple((order.get(score, score), id) for score, id in value.entries))

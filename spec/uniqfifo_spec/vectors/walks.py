"""Walks that cover the transition graph of a small scope.

A node is what one key holds, an edge is a call that finds it so. One vector for each edge would be
thousands; a walk takes one edge after the other, and looks for the nearest that is not yet covered.
"""

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from itertools import product

from uniqfifo_spec.designs import Design
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import List, Score, Value, ZSet
from uniqfifo_spec.vectors.vector import CLOCK, QUEUES, Step, take

IDS: tuple[Id, ...] = (b"a", b"b", b"c")
LONGEST_LIST = 3
LONGEST_WALK = 20
FUTURE = 4_400_000_000_000_000
"""The year 2109, later than any clock that vectors run under."""

_FARTHEST = 3  # calls to an edge that is not covered, before a new walk is begun
_QUEUE = QUEUES[0]
DEQUEUE = Step("dequeue", _QUEUE)
CALLS = (*(Step("enqueue", _QUEUE, id) for id in IDS), DEQUEUE, Step("start"))

Edge = tuple[Hashable, Step]
Walk = tuple[Value, tuple[Step, ...]]


def lists() -> Iterator[List]:
    """Every LIST over three ids up to length 3, repetitions included."""
    for length in range(1, LONGEST_LIST + 1):
        yield from map(List, product(IDS, repeat=length))


def zsets() -> Iterator[ZSet]:
    """Every ZSET over three ids with a low or a future score each, ties included."""
    scores: tuple[Score | None, ...] = (None, 1, FUTURE)
    for chosen in product(scores, repeat=len(IDS)):
        entries = [(score, id) for id, score in zip(IDS, chosen, strict=True) if score is not None]
        if entries:
            yield ZSet(tuple(sorted(entries)))


def lists_to_migrate() -> Iterator[List]:
    """Every LIST up to length 3, but one only of those that differ in the names of their ids.

    New ids come up in the order b, a, c: neither that of the bytes nor its reverse.
    """
    names = (b"b", b"a", b"c")
    for value in lists():
        first = tuple(dict.fromkeys(value.ids))
        if first == names[: len(first)]:
            yield value


def scope(storage: str) -> list[Value]:
    """The key values of a storage's graph from which the others are reached."""
    if storage == "list":
        return [None, *lists()]
    return [None, *zsets(), *lists_to_migrate()]


def walks(design: Design, covered: set[Edge]) -> Iterator[Walk]:
    """Walks over every edge of the design's graph that is not yet covered; `covered` grows."""
    # The longest first: calls of dequeue lead from them to the shorter ones.
    for value in sorted(scope(design.name), key=_size, reverse=True):
        while steps := tuple(_walk(design, value, covered)):
            yield value, steps


def _walk(design: Design, value: Value, covered: set[Edge]) -> Iterator[Step]:
    now, end = CLOCK, CLOCK + LONGEST_WALK
    while way := _nearest(design, value, now, covered):
        if now + len(way) > end:
            return
        for call in way:
            covered.add((node(value), call))
            value = after(design, value, call, now)
            now += 1
            yield call


def _nearest(design: Design, value: Value, now: int, covered: set[Edge]) -> tuple[Step, ...]:
    """The fewest calls from here of which the last is not yet covered; none if that is far."""
    seen = {node(value)}
    ahead: deque[Walk] = deque([(value, ())])
    while ahead:
        here, way = ahead.popleft()
        nexts = [(after(design, here, call, now + len(way)), call) for call in CALLS]
        # Calls that change nothing first: the walk can still go on from here then.
        nexts.sort(key=lambda found: node(found[0]) != node(here))
        for there, call in nexts:
            if in_scope(there) and (node(here), call) not in covered:
                return (*way, call)
        for there, call in nexts:
            if in_scope(there) and node(there) not in seen and len(way) + 1 < _FARTHEST:
                seen.add(node(there))
                ahead.append((there, (*way, call)))
    return ()


def after(design: Design, value: Value, call: Step, now: int) -> Value:
    """What the key holds after a call."""
    keys: dict[str, Value] = {**dict.fromkeys(QUEUES), _QUEUE: value}
    take(call, design, keys, now)
    return keys[_QUEUE]


def edges(design: Design) -> set[Edge]:
    """Every edge of the graph: each call that leads from one key value in scope to another."""
    found: set[Edge] = set()
    ahead = scope(design.name)
    while ahead:
        value = ahead.pop()
        if (node(value), DEQUEUE) not in found:
            nexts = [(call, after(design, value, call, _next(value))) for call in CALLS]
            found |= {(node(value), call) for call, there in nexts if in_scope(there)}
            ahead += [there for _, there in nexts if in_scope(there)]
    return found


def edges_of(design: Design, value: Value, steps: Iterable[Step]) -> Iterator[Edge]:
    """The edges that a walk takes."""
    for now, step in enumerate(steps, CLOCK):
        yield node(value), step
        value = after(design, value, step, now)


def node(value: Value) -> Hashable:
    """What is the same for all key values that the designs cannot tell apart.

    Of scores only their order counts, and whether they are before or after the clock: so future
    scores that `zset-strict` counts up are one node, and so are clock scores at different times.
    """
    if not isinstance(value, ZSet):
        return value
    found: list[tuple[int, int, Id]] = []
    for era in range(3):
        scores = sorted({score for score, _ in value.entries if _era(score) == era})
        found += [
            (era, scores.index(score), id) for score, id in value.entries if _era(score) == era
        ]
    return tuple(found)


def in_scope(value: Value) -> bool:
    return not isinstance(value, List) or len(value.ids) <= LONGEST_LIST


def _next(value: Value) -> int:
    """A clock reading after every score that came from the clock."""
    scores = [score for score, _ in value.entries] if isinstance(value, ZSet) else []
    return max([CLOCK, *(int(score) + 1 for score in scores if _era(score) == 1)])


def _era(score: Score) -> int:
    return 0 if score < CLOCK else 1 if score < FUTURE else 2


def _size(value: Value) -> int:
    match value:
        case List(ids):
            return len(ids)
        case ZSet(entries):
            return len(entries)
        case _:
            return 0

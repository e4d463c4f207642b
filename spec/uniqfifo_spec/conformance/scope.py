"""The small scope in which every transition is tried, and a few cases named one by one."""

from collections.abc import Iterator
from itertools import product

from uniqfifo_spec.conformance.oracle import Operation
from uniqfifo_spec.conformance.session import Call, Put, Step
from uniqfifo_spec.conformance.targets import QUEUES
from uniqfifo_spec.designs import TOP_SCORE
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import List, Other, Score, Value, ZSet

IDS = (b"a", b"b", b"c")
LONGEST_LIST = 4

CLOCK = 1_700_000_000_000_007
"""Where the clock can be set it reads this, in microseconds. Its last six digits begin with zeros,
so that seconds and microseconds glued together without padding come out wrong."""

_PAST = 1_500_000_000_000_000
_FUTURE = 4_400_000_000_000_000  # the year 2109; halves are still exact here
SCORES: tuple[Score, ...] = (1, _PAST, _FUTURE, _FUTURE + 0.5, TOP_SCORE)
_AT_CLOCK: tuple[Score, ...] = (CLOCK - 1, CLOCK, CLOCK + 1)

Case = tuple[Step, ...]
"""One transition: what the three keys hold, and last a call of a host that is started already."""

HOSTILE: tuple[Id, ...] = (
    *(
        b"A",
        b"a ",
        b"\xff\xfe",
        b"\x00",
        b"a\x00b",
        b"a\r\nb",
        b"\x85",
        b" a ",
        b"{a}",
        b"007",
        b"1e3",
        b"NaN",
    ),
    *("é".encode(), "e\u0301".encode(), "\u2028".encode(), "\U00010000".encode(), b"WRONGTYPE"),
)
_LONG = b"x" * 65_536


def lists() -> Iterator[List]:
    """Every LIST over three ids up to length 4, shortest first, repetitions included."""
    for length in range(1, LONGEST_LIST + 1):
        yield from map(List, product(IDS, repeat=length))


def zsets(at_clock: bool) -> Iterator[ZSet]:
    """Every ZSET over three ids with the chosen scores, smallest first, ties included.

    `at_clock`: also with scores one before, at and one after the clock, where that can be set.
    """
    scores: tuple[Score | None, ...] = (None, *SCORES, *(_AT_CLOCK if at_clock else ()))
    values = [
        ZSet(tuple(sorted((s, id) for id, s in zip(IDS, chosen, strict=True) if s is not None)))
        for chosen in product(scores, repeat=len(IDS))
    ]
    yield from sorted((value for value in values if value.entries), key=lambda v: len(v.entries))


def cases(storage: str, at_clock: bool) -> Iterator[Case]:
    """Every transition of one storage, the smallest key values first."""
    own: list[Value] = [None]
    foreign: list[Value] = [Other("string"), Other("hash"), Other("set")]
    if storage == "list":
        own += lists()
        foreign += [ZSet(((1, b"a"),))]
    else:
        own += zsets(at_clock)
        foreign += [List(IDS[:1]), List((b"a", b"b", b"a"))]
    calls = [("enqueue", id) for id in IDS] + [("dequeue", None)]
    for number, value in enumerate(own + foreign):
        # The queues take turns, so that each key is used.
        for name, id in calls:
            yield _case(storage, value, name, QUEUES[number % 3], id)
    for number, value in enumerate([*own, *foreign, *lists()]):
        yield _case(storage, value, "start", QUEUES[number % 3])
    yield from _named_cases(storage)


def _named_cases(storage: str) -> Iterator[Case]:
    for id in (*HOSTILE, _LONG):
        yield _case(storage, None, "enqueue", "workflow", id)
        yield _case(storage, _holding(storage, b"a", id), "enqueue", "event", id)
        yield _case(storage, _holding(storage, id), "dequeue", "index")
    yield _case(storage, _holding(storage, b""), "dequeue", "workflow")
    # Byte order is not the order of UTF-16 code units.
    astral, private = "\U00010000".encode(), "\uffff".encode()
    yield _case(storage, _holding(storage, private, astral), "dequeue", "workflow")
    if storage != "list":
        for length in (499, 500, 501, 1001):  # the borders of what one ZADD takes
            ids = tuple(b"%d" % number for number in range(length))
            yield _case(storage, List(ids + ids[:2]), "start", "workflow")
        yield _case(storage, List((b"b", b"a", b"b")), "start", "event", ttl=1000)


def _holding(storage: str, *ids: Id) -> Value:
    if storage == "list":
        return List(ids)
    return ZSet(tuple(sorted((1, id) for id in ids)))


def _case(
    storage: str, value: Value, name: str, queue: str, id: Id | None = None, ttl: int | None = None
) -> Case:
    bystander = _holding(storage, b"bystander")
    puts = [Put(other, value, ttl) if other == queue else Put(other, bystander) for other in QUEUES]
    operation = Operation("start") if name == "start" else Operation(name, queue, id)
    return (*puts, Call(storage, operation))

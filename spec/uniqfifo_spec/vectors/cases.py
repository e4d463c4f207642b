"""The cases that are named one by one: those that a port gets wrong, and their neighbours."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from uniqfifo_spec.designs import LIST, TOP_SCORE, ZSET, ZSET_STRICT, Design
from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import List, Other, Score, Value, ZSet
from uniqfifo_spec.vectors.vector import QUEUES, Step
from uniqfifo_spec.vectors.walks import FUTURE

PAST = 1_500_000_000_000_000
"""The year 2017, earlier than any clock that vectors run under. All sixteen digits count."""

WORKFLOW, EVENT, INDEX = QUEUES


@dataclass(frozen=True, slots=True)
class Case:
    """A vector that still lacks what the model has to say. Steps without a queue are for `queue`.

    `given` is the value of that queue's key, or what each queue's key holds.
    """

    topic: str
    name: str
    clause: str
    design: Design
    given: Value | Mapping[str, Value]
    steps: tuple[Step, ...]
    ttl: int | None = None


def enqueue(*ids: Id, queue: str | None = None) -> tuple[Step, ...]:
    return tuple(Step("enqueue", queue, id) for id in ids)


def dequeue(count: int = 1, queue: str | None = None) -> tuple[Step, ...]:
    return (Step("dequeue", queue),) * count


START = (Step("start"),)


def holding(design: Design, *ids: Id) -> Value:
    """These ids, in this order."""
    return List(ids) if design is LIST else ZSet(tuple(enumerate(ids, start=1)))


def _cases(topic: str, design: Design, ending: str = "") -> Callable[..., Case]:
    """A short hand for cases that have these in common."""

    def case(
        name: str,
        clause: str,
        given: Value | Mapping[str, Value],
        *steps: tuple[Step, ...],
        ttl: int | None = None,
    ) -> Case:
        return Case(topic, name + ending, clause, design, given, sum(steps, ()), ttl)

    return case


def cases() -> Iterator[Case]:
    for design in (LIST, ZSET):
        yield from _order(design)
        yield from _ids(design)
        yield from _keys(design)
    yield from _scores()
    yield from _strict_scores()
    yield from _migration()
    yield from _refused_starts()


def _order(design: Design) -> Iterator[Case]:
    case = _cases("order", design, f"-{design.name}")
    fifo = "LST-3" if design is LIST else "ZST-3"
    three = holding(design, b"a", b"b", b"c")
    yield case("re-enqueued-at-the-tail", "ENQ-1", three, dequeue(), enqueue(b"a"))
    three = holding(design, b"c", b"a", b"b")
    yield case("kept-in-its-place", "ENQ-2", three, enqueue(b"b", b"a", b"c"))
    one = holding(design, b"b")
    yield case("drained-and-filled", "DEQ-1", one, dequeue(2), enqueue(b"b", b"a"), dequeue())
    yield case("nothing", "DEQ-2", None, dequeue(2))
    # None of the orders that a careless score or an unordered type would give.
    mixed = (b"z9", b"a1", b"m5", b"B", b"10", b"9", b"\xc3\xa9")
    yield case("first-in-first-out", fifo, None, enqueue(*mixed), dequeue(3), enqueue(b"a1"))
    yield case("drained-in-order", fifo, holding(design, *mixed), dequeue(len(mixed) + 1))
    if design is LIST:
        copies = List((b"a", b"b", b"a", b"c", b"b", b"a"))
        yield case("copies-stay", "QUE-1", copies, enqueue(b"b", b"a", b"c", b"a"))
        yield case("copies-drain", "QUE-1", copies, dequeue(3), enqueue(b"a", b"c"), dequeue(3))


TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "upper-and-lower-case": ("ENQ-3", ("a", "A", "é", "É")),
    "spaces": ("ENQ-3", ("a", "a ", " a", "\ta", " ", "a\u00a0")),
    "like-numbers": (
        "ENQ-3",
        ("7", "007", "7.0", "1000", "1e3", "0", "-0", "NaN", "9007199254740993", "1e400"),
    ),
    "composed-and-not": ("ENQ-3", ("\u00e9", "e\u0301", "\ufb01", "fi", "\u212a", "K")),
    "beyond-ascii": ("IDS-1", ("ÿ", "Ω", "日本", "\uff5e", "\U00010000", "\U0001f600")),
    "braces": ("IDS-1", ("a", "{a}", "{", "}", "{}", "{a}b", "*", "[a]", "?")),
    "nul": ("IDS-1", ("a", "a\0b", "a\0", "\0", "\0a")),
    "line-breaks": (
        "IDS-1",
        ("a", *(f"a{end}b" for end in ("\n", "\r\n", "\r", "\v", "\f", "\x1c", "\x85"))),
    ),
    "unicode-line-breaks": ("IDS-1", ("a", "a\u2028b", "a\u2029b", "\u2028", "a\u2028")),
    "like-code": ("IDS-1", ('"a"', "a", "'a'", 'a"b', "a\\", "a\\n", "%61", "&amp;", "$a", "a'b")),
    "like-json": ("IDS-1", ("null", "true", "[]", '{"b64": "YQ=="}', '{"repeat": "a"}', "nil")),
    "like-commands": ("IDS-1", ("NX", "WITHSCORES", "BEFORE", "WRONGTYPE", "-1", "+inf", "(1")),
}
"""Ids that carelessness takes for one another, or for something else, and the clause about it."""

FOREIGN: tuple[Id, ...] = (b"\xff\xfe", b"\x85", b"\xc3\x28", b"\xed\xa0\x80", b"\xe9")
"""What a foreign writer can have left and is no UTF-8: the last but one a surrogate, the last é in
latin-1."""


def _ids(design: Design) -> Iterator[Case]:
    case = _cases("ids", design, f"-{design.name}")

    def there_and_back(name: str, clause: str, *ids: Id) -> Case:
        """What others wrote is found pending, comes out, and goes in again as the same bytes."""
        there = (*enqueue(*ids), *dequeue(len(ids) + 1))
        return case(name, clause, holding(design, *ids), there, enqueue(*ids))

    for name, (clause, texts) in TEXTS.items():
        yield there_and_back(name, clause, *(text.encode() for text in texts))
    yield there_and_back("long", "IDS-1", b"x" * 65_536, b"x" * 65_535)
    foreign = holding(design, *FOREIGN, b"a")
    yield case("no-utf-8", "IDS-3", foreign, dequeue(len(FOREIGN) + 2))
    # Nothing is not the empty text, whichever of them comes first.
    yield case("empty-text", "DEQ-2", holding(design, b""), dequeue(2))
    first = holding(design, b"", b"a")
    yield case("empty-text-first", "IDS-3", first, enqueue(b"a"), dequeue(3), enqueue(b"a"))


def _keys(design: Design) -> Iterator[Case]:
    case = _cases("keys", design, f"-{design.name}")
    own = [enqueue(queue[:1].encode(), queue=queue) for queue in QUEUES]
    yield case("three-keys", "KEY-1", {}, *own)
    same = [enqueue(b"a", queue=queue) for queue in QUEUES]
    yield case("same-id-in-each", "KEY-4", {}, *same, dequeue(2, queue=EVENT))
    filled = {WORKFLOW: holding(design, b"a", b"b"), INDEX: holding(design, b"b")}
    yield case("one-is-empty", "KEY-4", filled, dequeue(1, queue=EVENT), dequeue(2, queue=INDEX))
    yield case("start-again", "LIF-2", filled, START, enqueue(b"a", queue=WORKFLOW), START)
    for other in ("string", "hash", "set"):
        yield case(f"a-{other}", "ERR-1", Other(other), enqueue(b"a"), dequeue(), START)
    beside = {WORKFLOW: Other("string"), EVENT: holding(design, b"a")}
    refused = enqueue(b"b", queue=WORKFLOW)
    yield case("a-string-beside", "KEY-4", beside, refused, dequeue(2, queue=EVENT))


def _zset(*entries: tuple[Score, Id]) -> Value:
    return ZSet(tuple(sorted(entries)))


def _scores() -> Iterator[Case]:
    case = _cases("scores", ZSET)
    ids = (b"b", b"B", b"a", b"10", b"9", b"\xc3\xa9", b"aa")
    tied = _zset(*((1, id) for id in ids))
    yield case("ties-leave-by-their-bytes", "ZST-1", tied, dequeue(len(ids)))
    # In UTF-16, as in Java, JavaScript and C#, the second would come first.
    astral = _zset((1, "\uff5e".encode()), (1, "\U00010000".encode()))
    yield case("ties-are-not-utf-16", "ZST-1", astral, dequeue(2))
    odd = _zset((-1, b"d"), (0, b"c"), (0.5, b"b"), (1, b"a"))
    yield case("small-scores", "ZST-1", odd, enqueue(b"a"), dequeue(3), enqueue(b"d"))
    last_digit = _zset((PAST, b"b"), (PAST + 1, b"a"), (TOP_SCORE - 1, b"d"), (TOP_SCORE, b"c"))
    yield case("the-last-digit-counts", "ZST-1", last_digit, dequeue(4))
    yield case("the-old-score-stays", "ENQ-2", _zset((PAST, b"a"), (PAST, b"b")), enqueue(b"a"))
    yield case("after-the-past", "ZST-3", _zset((PAST, b"b")), enqueue(b"a"), enqueue(b"b"))
    yield case("future-is-overtaken", "ZST-3", _zset((FUTURE, b"a")), enqueue(b"b", b"c"))
    yield case("highest-is-overtaken", "ZST-3", _zset((TOP_SCORE, b"a")), enqueue(b"b"), dequeue())


def _strict_scores() -> Iterator[Case]:
    case = _cases("scores", ZSET_STRICT)
    future = _zset((FUTURE, b"b"))
    # Neither the order of the bytes nor its reverse.
    yield case("strict-above-the-highest", "STR-1", future, enqueue(b"c", b"a", b"d", b"B"))
    yield case("strict-after-ties", "STR-2", _zset((FUTURE, b"c"), (FUTURE, b"d")), enqueue(b"a"))
    half = _zset((FUTURE + 0.5, b"b"))
    yield case("strict-rounds-down", "STR-1", half, enqueue(b"a"), enqueue(b"c"))
    below = _zset((TOP_SCORE - 1, b"b"))
    refills = (*enqueue(b"a", b"c"), *dequeue(), *enqueue(b"c"), *dequeue(), *enqueue(b"c"))
    yield case("strict-up-to-the-limit", "STR-3", below, refills)
    at = _zset((1, b"a"), (TOP_SCORE, b"b"))
    yield case("strict-at-the-limit", "STR-3", at, enqueue(b"c", b"a", b"b"))
    beyond = _zset((TOP_SCORE + 1, b"a"))
    yield case("strict-beyond-the-limit", "STR-3", beyond, enqueue(b"b"), dequeue(), enqueue(b"b"))


def _numbers(count: int) -> tuple[Id, ...]:
    return tuple(b"%d" % number for number in range(count))


def _migration() -> Iterator[Case]:
    case = _cases("migration", ZSET)
    copies = List((b"b", b"a", b"b", b"c", b"a", b"d"))
    yield case("first-copies-and-gaps", "MIG-1", copies, START)
    yield case("then-enqueued", "MIG-1", List((b"c", b"a")), START, enqueue(b"b", b"a"), dequeue())
    yield case("before-start", "ERR-1", List((b"b", b"a")), enqueue(b"c", b"a"), dequeue())
    texts = tuple(text.encode() for _, texts in TEXTS.values() for text in texts)
    hostile = tuple(dict.fromkeys((*texts, *FOREIGN, b"")))
    yield case("ids-of-all-kinds", "MIG-1", List((*hostile, *hostile[:9])), START)
    # Lua takes only so many arguments at a time: what lies round the borders of such a batch?
    for length in (499, 500, 501, 1000, 1001):
        ids = _numbers(length)
        yield case(f"{length}-ids", "MIG-1", List((*ids, *ids[:2])), START)
    across = List((*_numbers(500), *_numbers(20), *_numbers(520)[500:], b"0", b"last"))
    yield case("copies-across-a-border", "MIG-1", across, START, enqueue(b"0"))
    yield case("a-zset-stays", "MIG-2", _zset((2, b"a"), (5, b"b")), START, START)
    yield case("no-key-stays-none", "MIG-2", None, START, START, dequeue())
    yield case("again", "MIG-2", List((b"b", b"a", b"b")), START, dequeue(), START, enqueue(b"b"))
    yield case("time-to-live", "MIG-4", List((b"b", b"a")), START, dequeue(), ttl=1000)
    three = {WORKFLOW: List((b"b", b"a")), EVENT: List((b"a",)), INDEX: List((b"c", b"b", b"c"))}
    yield case("all-three", "LIF-2", three, START)


def _refused_starts() -> Iterator[Case]:
    case = _cases("migration", ZSET)
    tried = {WORKFLOW: Other("string"), EVENT: List((b"b", b"a")), INDEX: _zset((2, b"a"))}
    yield case("all-three-are-tried", "LIF-3", tried, START)
    yield case("a-hash-stays", "MIG-3", {WORKFLOW: List((b"a",)), INDEX: Other("hash")}, START)
    case = _cases("migration", LIST)
    found = {WORKFLOW: List((b"a",)), EVENT: _zset((1, b"a"))}
    yield case("list-finds-a-zset", "ERR-1", found, START)

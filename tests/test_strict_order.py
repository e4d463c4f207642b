"""Order under bad clocks: `zset-strict` keeps it, `list` needs none, `zset` shows what ZST-3 says.

Three ways to a clock: the embedded server's can be set; from 7.2 on a real server stops its own for
a whole MULTI, so that a script in there can seed a key relative to it; and a script's TIME can be
replaced by other fields.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
import redis

from tests import wrong
from tests.conftest import FAKE
from tests.faults import FREEZE_TIME, RUN_ZSET, refused
from uniqfifo import Reason, UniqueQueue, scripts
from uniqfifo_spec.conformance.bench import Bench, embedded
from uniqfifo_spec.designs import TOP_SCORE

pytestmark = pytest.mark.once

on_every_server = pytest.mark.servers(FAKE, *RUN_ZSET)

BATCH = [f"{(number * 7919) % 1009:x}" for number in range(300)]
ENQUEUE = {"zset": scripts.ZSET_ENQUEUE.text, "zset-strict": scripts.ZSET_STRICT_ENQUEUE.text}

NOON = 1_700_000_000_000_007
SECOND, HOUR = 1_000_000, 3_600_000_000
CALLS = ("z9", "a1", "m5", "B", "10", "9")
CLOCKS = {
    "frozen": (NOON,) * 6,
    "one second behind": (NOON, *(NOON - SECOND,) * 5),
    "advancing": tuple(range(NOON, NOON + 6)),
    "back by 1 µs each": tuple(range(NOON, NOON - 6, -1)),
    "back an hour, then right": (NOON, NOON - HOUR, NOON - HOUR + 1, NOON + 2, NOON + 3, NOON + 4),
    "ahead an hour, then right": (NOON, NOON + HOUR, NOON + 1, NOON + 2, NOON + 3, NOON + 4),
}
LEAVING_ZSET = {
    "frozen": ["10", "9", "B", "a1", "m5", "z9"],
    "one second behind": ["10", "9", "B", "a1", "m5", "z9"],
    "advancing": list(CALLS),
    "back by 1 µs each": ["9", "10", "B", "m5", "a1", "z9"],
    "back an hour, then right": ["a1", "m5", "z9", "B", "10", "9"],
    "ahead an hour, then right": ["z9", "m5", "B", "10", "9", "a1"],
}


@pytest.fixture
def bench() -> Iterator[Bench]:
    with embedded() as bench:
        yield bench


def set_clock(bench: Bench, now: int) -> None:
    assert bench.clock is not None
    bench.clock(now)


def drained(queue: UniqueQueue) -> list[str]:
    ids: list[str] = []
    while (id := queue.dequeue()) is not None:
        ids.append(id)
    return ids


def leaving(bench: Bench, storage: str, clock: Sequence[int]) -> list[str]:
    """Enqueue each id at its time, then see in which order they leave."""
    queue = UniqueQueue(bench.client, "queue", storage)
    for now, id in zip(clock, CALLS, strict=True):
        set_clock(bench, now)
        assert queue.enqueue(id)
    return drained(queue)


def run_in_one_multi(client: redis.Redis, key: str, storage: str, ids: Sequence[str]) -> None:
    transaction = client.pipeline(transaction=True)
    for id in ids:
        transaction.eval(ENQUEUE[storage], 1, key, id)
    assert transaction.execute() == [1] * len(ids)


@on_every_server
def test_a_batch_of_strict_enqueues_in_a_multi_leaves_in_enqueue_order(
    client: redis.Redis, prefix: str
) -> None:
    run_in_one_multi(client, prefix, "zset-strict", BATCH)
    assert drained(UniqueQueue(client, prefix, "zset-strict")) == BATCH


@pytest.mark.servers(*FREEZE_TIME)
def test_the_same_batch_of_zset_enqueues_leaves_in_byte_order(
    client: redis.Redis, prefix: str
) -> None:
    """As ZST-3 says of servers that stop the clock in a transaction."""
    run_in_one_multi(client, prefix, "zset", BATCH)
    assert len({score for _, score in client.zrange(prefix, 0, -1, withscores=True)}) == 1
    assert drained(UniqueQueue(client, prefix, "zset")) == sorted(BATCH) != BATCH


SEED = """
local time = redis.call('TIME')
return redis.call('ZADD', KEYS[1], time[1] * 1000000 + time[2] + ARGV[1], ARGV[2])
"""


@pytest.mark.servers(*FREEZE_TIME)
@pytest.mark.parametrize("storage", ENQUEUE)
@pytest.mark.parametrize("seeded", [-SECOND, -1, 0, 1, SECOND])
def test_the_score_is_exact_to_the_microsecond(
    client: redis.Redis, prefix: str, storage: str, seeded: int
) -> None:
    """B07, django-commons/django-tasks-scheduler#397: above the highest, not equal to it."""
    transaction = client.pipeline(transaction=True)
    transaction.eval(SEED, 1, prefix, seeded, "pending")
    transaction.time()
    transaction.eval(ENQUEUE[storage], 1, prefix, "new")
    transaction.time()
    transaction.zscore(prefix, "new")
    _, before, added, after, score = transaction.execute()
    assert (added, before) == (1, after), "the clock did not stand still"
    now = before[0] * 1_000_000 + before[1]
    expected = max(now, now + seeded + 1) if storage == "zset-strict" else now
    assert int(score) == expected
    in_order = storage == "zset-strict" or seeded < 0
    assert drained(UniqueQueue(client, prefix)) == sorted(["new", "pending"], reverse=in_order)


@pytest.mark.parametrize("storage", ["list", "zset-strict"])
@pytest.mark.parametrize("clock", CLOCKS)
def test_ids_leave_in_enqueue_order_whatever_the_clock(
    bench: Bench, storage: str, clock: str
) -> None:
    """B07, django-commons/django-tasks-scheduler#397; B09, sidekiq-scheduler#283."""
    assert leaving(bench, storage, CLOCKS[clock]) == list(CALLS)


@pytest.mark.parametrize("clock", CLOCKS)
def test_zset_lets_a_bad_clock_change_the_order_and_nothing_else(bench: Bench, clock: str) -> None:
    """B09, sidekiq-scheduler/sidekiq-scheduler#283: the anomalies that ZST-3 permits."""
    assert leaving(bench, "zset", CLOCKS[clock]) == LEAVING_ZSET[clock]


def test_a_guard_that_only_reaches_the_highest_score_starves_late_names(bench: Bench) -> None:
    """B07, django-commons/django-tasks-scheduler#397: what was reported."""
    set_clock(bench, NOON - SECOND)
    bench.judge.zadd("queue-workflows", {"z9": NOON})
    host = wrong.implementation("highest without + 1").open(bench, "queue", "zset-strict")
    host.start()
    for id in CALLS[1:]:
        assert host.enqueue("workflow", id.encode())
    assert drained(UniqueQueue(bench.client, "queue-workflows")) == sorted(CALLS)


def test_a_score_in_the_future_does_not_outlive_the_queue(bench: Bench) -> None:
    """B07, django-commons/django-tasks-scheduler#397."""
    queue = UniqueQueue(bench.client, "queue", "zset-strict")
    set_clock(bench, NOON + HOUR)
    queue.enqueue("a")
    set_clock(bench, NOON)
    queue.enqueue("b")
    assert bench.judge.zscore("queue", "b") == NOON + HOUR + 1
    assert drained(queue) == ["a", "b"]
    queue.enqueue("c")
    assert bench.judge.zscore("queue", "c") == NOON


# What TIME answers, in the order of time: the second field has no leading zeros.
FIELDS = [
    ("1700000000", "0"),
    ("1700000000", "999"),
    ("1700000000", "1000"),
    ("1700000000", "99999"),
    ("1700000000", "100000"),
    ("1700000001", "0"),
]
MICROSECONDS = [int(seconds) * SECOND + int(rest) for seconds, rest in FIELDS]


@pytest.mark.parametrize("storage", ENQUEUE)
def test_scores_rise_with_the_clock_where_its_digits_begin_with_zeros(
    bench: Bench, storage: str
) -> None:
    """B12, taylorhakes/python-redis-cache PR#45."""
    queue = UniqueQueue(bench.client, "queue", storage)
    for now, id, fields in zip(MICROSECONDS, CALLS, FIELDS, strict=True):
        set_clock(bench, now)
        assert bench.client.execute_command("TIME") == (int(fields[0]), int(fields[1]))
        queue.enqueue(id)
    assert [bench.judge.zscore("queue", id) for id in CALLS] == MICROSECONDS
    assert drained(queue) == list(CALLS)


@on_every_server
@pytest.mark.parametrize("storage", ENQUEUE)
def test_every_server_makes_the_same_scores_of_those_fields(
    client: redis.Redis, prefix: str, storage: str
) -> None:
    """B12, taylorhakes/python-redis-cache PR#45, with a substitute for TIME."""
    substituted = ENQUEUE[storage].replace("redis.call('TIME')", "{ARGV[2], ARGV[3]}")
    for id, fields in zip(CALLS, FIELDS, strict=True):
        client.eval(substituted, 1, prefix, id, *fields)
    assert [client.zscore(prefix, id) for id in CALLS] == MICROSECONDS


@pytest.mark.parametrize("dot", ["", "."])
def test_fields_glued_without_padding_break_the_order(bench: Bench, dot: str) -> None:
    """B12, taylorhakes/python-redis-cache PR#45: what was reported, with and without a dot."""
    glue = f"time[1] .. '{dot}' .. time[2]"
    glued = ENQUEUE["zset"].replace("time[1] * 1000000 + time[2]", glue)
    assert glued != ENQUEUE["zset"]
    for now, id in zip(MICROSECONDS, CALLS, strict=True):
        set_clock(bench, now)
        bench.client.eval(glued, 1, "queue", id)
    misread = [float(f"{seconds}{dot}{rest}") for seconds, rest in FIELDS]
    assert [bench.judge.zscore("queue", id) for id in CALLS] == misread != sorted(misread)
    assert drained(UniqueQueue(bench.client, "queue")) != list(CALLS)


@on_every_server
@pytest.mark.parametrize("highest", [TOP_SCORE, TOP_SCORE + 1, 1e300, "+inf"])
def test_no_id_is_added_above_the_last_exact_score(
    client: redis.Redis, prefix: str, highest: float | str
) -> None:
    client.execute_command("ZADD", prefix, 1, "low", highest, "high")
    queue = UniqueQueue(client, prefix, "zset-strict")
    for id in ("new", "low", "high"):
        with refused(client, prefix, Reason.SCORE_LIMIT):
            queue.enqueue(id)
    assert drained(queue) == ["low", "high"]
    assert queue.enqueue("new")


@on_every_server
def test_the_last_exact_score_is_given_away(client: redis.Redis, prefix: str) -> None:
    client.zadd(prefix, {"z": TOP_SCORE - 1})
    queue = UniqueQueue(client, prefix, "zset-strict")
    assert queue.enqueue("a")
    assert client.zscore(prefix, "a") == TOP_SCORE
    assert drained(queue) == ["z", "a"]


@on_every_server
def test_without_that_limit_two_ids_tie(client: redis.Redis, prefix: str) -> None:
    boundless = ENQUEUE["zset-strict"].replace("score > 9007199254740991", "false")
    client.zadd(prefix, {"z": TOP_SCORE})
    for id in ("y", "x"):
        client.eval(boundless, 1, prefix, id)
    assert client.zscore(prefix, "x") == client.zscore(prefix, "y")
    assert drained(UniqueQueue(client, prefix)) == ["z", "x", "y"]

"""What `spec/CLAIMS.md` rests on where no other test and no exploration shows it."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations, product
from typing import Any

import pytest
import redis

from tests import published
from tests.conftest import FAKE
from tests.faults import ALL, RUN_ZSET, since, start_replica
from uniqfifo import QueueType, RedisQueueProvider, Storage, UniqueQueue, scripts
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.designs import atomic
from uniqfifo_spec.explore import Configuration, explore
from uniqfifo_spec.rejected import SET_AND_LIST

pytestmark = pytest.mark.once

KEYS = ("p-workflows", "p-events", "p-index")


def drained(queue: UniqueQueue) -> list[str]:
    ids: list[str] = []
    while (id := queue.dequeue()) is not None:
        ids.append(id)
    return ids


# Floors


@pytest.mark.servers(*ALL)
def test_the_published_list_enqueue_runs_on_the_oldest_server(
    client: redis.Redis, prefix: str
) -> None:
    answers = [client.eval(published.LIST_ENQUEUE, 1, prefix, id) for id in ("a", "b", "a")]
    assert answers == [1, 1, 0]
    assert client.lrange(prefix, 0, -1) == [b"a", b"b"]


@pytest.mark.servers("redis-2.8", "redis-3.0", "redis-3.2")
def test_the_published_zset_enqueue_does_not(
    client: redis.Redis, prefix: str, server_name: str
) -> None:
    """No NX before 3.0.2, and no write after TIME before 5.0 unless the script asks for it."""
    with pytest.raises(redis.ResponseError, match="non deterministic"):
        client.eval(published.ZSET_ENQUEUE, 1, prefix, "a")
    if server_name == "redis-2.8":
        with pytest.raises(redis.ResponseError, match="syntax error"):
            client.execute_command("ZADD", prefix, "NX", 1, "a")
    assert not client.exists(prefix)
    if server_name == "redis-3.2":
        assert UniqueQueue(client, prefix, Storage.ZSET).enqueue("a")


@pytest.mark.servers(*since("5.0"))
def test_the_published_zset_enqueue_runs_from_5_0_on(client: redis.Redis, prefix: str) -> None:
    answers = [client.eval(published.ZSET_ENQUEUE, 1, prefix, id) for id in ("b", "a", "b")]
    assert answers == [1, 1, 0]


# ZPOPMIN


@pytest.mark.servers(FAKE, *since("5.0"))
def test_zpopmin_takes_the_same_id(client: redis.Redis, prefix: str) -> None:
    """Every ZSET of up to three ids over three scores, ties included."""
    scores, ids = (1, 2, 2**53 - 1), ("a", "B", "é")
    taken = 0
    for number in range(4):
        for chosen, given in product(combinations(ids, number), product(scores, repeat=number)):
            entries = dict(zip(chosen, given, strict=True))
            ours, theirs = f"{prefix}-ours", f"{prefix}-theirs"
            for key in (ours, theirs) if entries else ():
                client.zadd(key, entries)
            for _ in range(number + 1):
                popped = client.execute_command("ZPOPMIN", theirs)
                expected = popped[0] if popped else None
                if isinstance(expected, list | tuple):  # a client of RESP3 pairs id and score
                    expected = expected[0]
                for script in (published.ZSET_DEQUEUE, scripts.ZSET_DEQUEUE.text):
                    copy = f"{prefix}-copy"
                    client.delete(copy)
                    if client.exists(ours):
                        client.zunionstore(copy, [ours])
                    assert client.eval(script, 1, copy) == expected
                client.eval(published.ZSET_DEQUEUE, 1, ours)
                taken += expected is not None
    assert taken == sum((0, 9 * 1, 27 * 2, 27 * 3))


@pytest.mark.servers(*since("5.0"))
def test_on_a_replica_zpopmin_is_refused_and_the_published_dequeue_says_nothing(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    _, replica = start_replica(private_server, server_name)
    with replica.client() as client:
        assert client.eval(published.ZSET_DEQUEUE, 1, "empty") is None
        for command in (("ZPOPMIN", "empty"), ("EVAL", scripts.ZSET_DEQUEUE.text, 1, "empty")):
            with pytest.raises(redis.ResponseError, match=r"READONLY|read only replica"):
                client.execute_command(*command)


@pytest.mark.servers(*ALL)
def test_the_zset_dequeue_runs_on_every_server(client: redis.Redis, prefix: str) -> None:
    client.zadd(prefix, {"b": 1, "a": 2})
    for script in (published.ZSET_DEQUEUE, scripts.ZSET_DEQUEUE.text):
        assert client.eval(script, 1, prefix) is not None
    assert not client.exists(prefix)


# No-ops


@pytest.mark.servers(*RUN_ZSET)
def test_a_no_op_on_a_list_is_written_for_replicas_and_for_watch_and_on_a_zset_is_not(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    server = private_server(server_name, "--appendonly", "yes", "--appendfsync", "no")
    with server.client() as client:
        logged = {}
        for storage in ("list", "zset"):
            queue = UniqueQueue(client, storage, storage)
            assert queue.enqueue("a")
            value = client.dump(storage)
            before = client.info("persistence")["aof_current_size"]
            assert not queue.enqueue("a")
            logged[storage] = client.info("persistence")["aof_current_size"] - before
            with client.pipeline() as watching:
                watching.watch(storage)
                assert not queue.enqueue("a")
                watching.multi()
                watching.ping()
                if storage == "list":
                    with pytest.raises(redis.WatchError):
                        watching.execute()
                else:
                    assert watching.execute() == [True]
            assert client.dump(storage) == value
    empty_transaction = 29 if server_name in since("3.2", before="7.0") else 0
    assert (logged["list"] > 50, logged["zset"]) == (True, empty_transaction)


# Delivery


@pytest.mark.parametrize("storage", Storage)
def test_an_id_whose_answer_is_lost_is_gone(server: Server, prefix: str, storage: Storage) -> None:
    """No id hangs in a companion set; but who died after the pop took the id along."""
    client = server.client()
    queue = UniqueQueue(client, prefix, storage)
    assert queue.enqueue("a")
    call: tuple[Any, ...] = ("LPOP", prefix)
    if storage is not Storage.LIST:
        call = ("EVAL", scripts.ZSET_DEQUEUE.text, 1, prefix)
    with socket.create_connection(("127.0.0.1", server.port)) as doomed:
        doomed.sendall(b"".join(redis.connection.Connection().pack_command(*call)))
        deadline = time.monotonic() + 10
        while client.exists(prefix):
            assert time.monotonic() < deadline
    assert queue.dequeue() is None
    assert queue.enqueue("a") and queue.dequeue() == "a"  # nor does it block the id


def test_deleting_the_key_drops_what_is_pending_and_nothing_else(
    client: redis.Redis, prefix: str
) -> None:
    for storage in Storage:
        queue = UniqueQueue(client, prefix, storage)
        assert queue.enqueue("a") and queue.enqueue("b")
        client.delete(prefix)
        assert drained(queue) == []
        assert queue.enqueue("b") and queue.enqueue("a")
        assert drained(queue) == ["b", "a"]


# Keys


def test_the_keys_are_the_published_three_and_no_more(client: redis.Redis, prefix: str) -> None:
    for storage in Storage:
        with RedisQueueProvider(client, prefix, storage=storage) as provider:
            for queue in QueueType:
                provider.queue_work("a", queue)
                provider.queue_work("a", queue)
                provider.queue_work("b", queue)
                provider.dequeue_work(queue)
            found = {key.decode() for key in client.scan_iter(f"{prefix}*")}
            assert found == {f"{prefix}{key[1:]}" for key in KEYS}
            kind = b"list" if storage is Storage.LIST else b"zset"
            assert {client.type(key) for key in found} == {kind}
            client.delete(*found)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.mark.servers("redis-7.0", "valkey-9.1")
def test_every_script_keeps_to_one_slot_and_a_counter_beside_the_queue_would_not(
    server_name: str, private_server: Callable[..., Server]
) -> None:
    options = ("--cluster-enabled", "yes", "--cluster-port", str(free_port()))
    server = private_server(server_name, *options)
    with server.client() as client:
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", 0, 16383)
        deadline = time.monotonic() + 20
        while b"cluster_state:ok" not in client.execute_command("CLUSTER", "INFO", NEVER_DECODE=1):
            assert time.monotonic() < deadline
            time.sleep(0.05)
        for storage in Storage:
            key = f"{storage}-queue"
            client.rpush(key, "z")
            queue = UniqueQueue(client, key, storage)
            queue.make_ready()
            assert queue.enqueue("a") and not queue.enqueue("z")
            assert drained(queue) == ["z", "a"]
        counted = "return redis.call('ZADD', KEYS[1], 'NX', redis.call('INCR', KEYS[2]), ARGV[1])"
        with pytest.raises(redis.ResponseError, match="same slot"):
            client.eval(counted, 2, "p-workflows", "p-workflows-seq", "a")
        assert client.eval(counted, 2, "{p}-workflows", "{p}-workflows-seq", "a") == 1


# Scores


@pytest.mark.servers(FAKE, *RUN_ZSET)
def test_a_score_that_was_made_a_text_in_lua_is_no_longer_exact(
    client: redis.Redis, prefix: str
) -> None:
    """Fourteen digits are kept, seventeen if the number is passed as it is."""
    put = "return redis.call('ZADD', KEYS[1], 'NX', {}, ARGV[2])"
    now = 1_700_000_000_000_000
    for passed, ids in (("tonumber(ARGV[1])", "za"), ("tostring(tonumber(ARGV[1]))", "az")):
        key = f"{prefix}-{passed}"
        for microsecond, id in enumerate("za"):
            client.eval(put.format(passed), 1, key, now + microsecond, id)
        assert drained(UniqueQueue(client, key)) == list(ids)


def test_scores_in_microseconds_are_exact_for_centuries() -> None:
    years = 2**53 / 1_000_000 / 86_400 / 365.2425
    assert 1970 + int(years) == 2255
    assert float(2**53 - 1) + 1 == 2**53 and float(2**53) + 1 == 2**53


def test_ties_leave_in_the_order_of_bytes(client: redis.Redis, prefix: str) -> None:
    """Not in that of any alphabet, nor of UTF-16, in which some languages compare texts."""
    ids = ["b", "B", "10", "9", "é", "e\u0301", "\uff61", "\U00010000"]
    client.zadd(prefix, dict.fromkeys(ids, 7))
    expected = sorted(ids, key=str.encode)
    assert expected != sorted(ids, key=lambda id: id.encode("utf-16-be"))
    assert drained(UniqueQueue(client, prefix)) == expected


# Rejected alternatives


def test_set_and_list_holds_only_if_both_calls_are_one_script() -> None:
    def broken(**changes: Any) -> set[str]:
        design = replace(SET_AND_LIST, name="variant", **changes)
        return {*explore(Configuration((design,) * 2, lost=1, crashes=1)).steps()}

    enqueue_in_one = {"enqueue": atomic(SET_AND_LIST.enqueue)}
    dequeue_in_one = {"dequeue": atomic(SET_AND_LIST.dequeue)}
    assert broken(**enqueue_in_one, **dequeue_in_one) == set()
    assert "never-wedged" in broken(**enqueue_in_one)
    assert {"never-wedged", "nothing-lost"} <= broken(**dequeue_in_one)


def test_new_key_names_split_the_work_in_silence(client: redis.Redis, prefix: str) -> None:
    old, new = UniqueQueue(client, prefix, "list"), UniqueQueue(client, f"{prefix}-z", "zset")
    assert old.enqueue("a")
    assert new.dequeue() is None  # a false answer, and no error
    assert new.enqueue("a")
    assert (old.dequeue(), new.dequeue()) == ("a", "a")  # pending twice, delivered twice


def test_reading_both_keys_does_not_make_an_id_unique(client: redis.Redis, prefix: str) -> None:
    """New hosts write the new key alone and take from the old one first."""
    old, new = UniqueQueue(client, prefix, "list"), UniqueQueue(client, f"{prefix}-z", "zset")
    assert old.enqueue("a") and new.enqueue("a")
    taken = [id for _ in range(2) for id in [old.dequeue() or new.dequeue()]]
    assert taken == ["a", "a"]

"""Ids go over the wire and come back byte for byte, or are refused before anything is sent.

Covers B11 (rq/rq#1188, redis/redis-py#1254): popped, then the client cannot decode it.
"""

from __future__ import annotations

from typing import Any

import pytest
import redis

from uniqfifo import InvalidId, NotExecuted, Storage, UniqueQueue
from uniqfifo.storage import decode_id, encode_id
from uniqfifo_spec.conformance.spawn import Server

FOREIGN = [b"\xff\xfe", b"\x00", b"a\r\nb", b"\x85", b"", "é".encode("latin-1"), b"x" * 65_536]
TEXTS = ["a", "007", "1e3", " a ", "A", "é", "e\u0301", "\u2028", "\U0001f600", "a\x00b", "{a}"]


@pytest.fixture(params=[False, True], ids=["bytes", "decode_responses"])
def any_client(request: pytest.FixtureRequest, server: Server) -> Any:
    with server.client(decode_responses=request.param) as client:
        yield client


@pytest.mark.parametrize("storage", Storage)
def test_a_foreign_id_is_delivered_and_goes_in_again_as_the_same_bytes(
    any_client: redis.Redis, server: Server, prefix: str, storage: Storage
) -> None:
    queue = UniqueQueue(any_client, prefix, storage)
    raw = server.client()
    for wire in FOREIGN:
        if storage is Storage.LIST:
            raw.rpush(prefix, wire)
        else:
            raw.zadd(prefix, {wire: 1})
        id = queue.dequeue()
        assert id is not None
        assert id.encode("utf-8", "surrogateescape") == wire
        assert queue.dequeue() is None
        if wire:
            assert queue.enqueue(id)
            assert not queue.enqueue(id)
            (stored,) = (
                raw.lrange(prefix, 0, -1) if storage is Storage.LIST else raw.zrange(prefix, 0, -1)
            )
            assert stored == wire
            assert queue.dequeue() == id


@pytest.mark.parametrize("storage", Storage)
def test_texts_that_look_alike_are_different_ids(
    any_client: redis.Redis, prefix: str, storage: Storage
) -> None:
    queue = UniqueQueue(any_client, prefix, storage)
    assert [queue.enqueue(text) for text in TEXTS] == [True] * len(TEXTS)
    assert [queue.dequeue() for _ in TEXTS] == TEXTS


@pytest.mark.parametrize("id", [1, 1.0, None, True, b"a", ["a"]])
def test_what_is_no_text_is_a_type_error(id: Any) -> None:
    with pytest.raises(TypeError, match="an id is a str"):
        encode_id(id)


@pytest.mark.parametrize("id", ["", "\ud800", "a\udfff", "\udcc3\udca9"])
def test_what_would_not_come_back_is_refused_before_anything_is_sent(id: str) -> None:
    queue = UniqueQueue(redis.Redis(port=1), "never used")
    for call in (queue.enqueue, queue.position, queue.remove):
        with pytest.raises(InvalidId) as caught:
            call(id)
        assert isinstance(caught.value, NotExecuted | ValueError)


def test_decoding_never_fails_and_encoding_takes_it_back() -> None:
    for first in range(256):
        for second in range(256):
            wire = bytes((first, second))
            assert encode_id(decode_id(wire)) == wire

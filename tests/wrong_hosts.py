"""Hosts that are wrong as ports are: encodings, key names, own states, separate commands."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

from tests import wrong
from uniqfifo_spec.conformance.session import KEY_ENDINGS
from uniqfifo_spec.conformance.targets import Answer, Failed


class Encoded(wrong.Host):
    """Ids go through a function on their way to Redis, as in a port that handles text wrongly."""

    change: Callable[[bytes], bytes]

    def enqueue(self, queue: str, id: bytes) -> Answer:
        return super().enqueue(queue, type(self).change(id))


def encoded(change: Callable[[bytes], bytes]) -> type[wrong.Host]:
    return type("Encoded", (Encoded,), {"change": staticmethod(change)})


def text(change: Callable[[str], str]) -> type[wrong.Host]:
    return encoded(
        lambda id: change(id.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
    )


def as_number(text: str) -> str:
    return str(int(text)) if text.isdigit() else text


def keys(name: Callable[[str, str], str]) -> type[wrong.Host]:
    class OtherKeys(wrong.Host):
        def key(self, queue: str) -> str:
            return name(self.prefix, queue)

    return OtherKeys


class FallsThrough(wrong.Host):
    def dequeue(self, queue: str) -> Answer:
        answers = (super(FallsThrough, self).dequeue(each) for each in (queue, *KEY_ENDINGS))
        return next((answer for answer in answers if answer is not None), None)


class NonAtomicEnqueue(wrong.Host):
    storages = ("list",)

    def do_enqueue(self, key: str, id: bytes) -> bool:
        if self.client.linsert(key, "BEFORE", id, id) <= 0:  # type: ignore[arg-type]
            self.client.rpush(key, id)
            return True
        self.client.lrem(key, 1, id)  # type: ignore[arg-type]
        return False


class NonAtomicDequeue(wrong.Host):
    storages = ("zset",)

    def do_dequeue(self, key: str) -> bytes | None:
        first: list[bytes] = self.client.zrange(key, 0, 0)
        if not first:
            return None
        self.client.zrem(key, first[0])
        return first[0]


class SwallowsErrors(wrong.Host):
    def answer(self, call: Callable[..., Answer], queue: str, *arguments: Any) -> Answer:
        answer = super().answer(call, queue, *arguments)
        return None if isinstance(answer, Failed) and answer.kind != "not-started" else answer


class AlwaysAdded(wrong.Host):
    def enqueue(self, queue: str, id: bytes) -> Answer:
        return super().enqueue(queue, id) in (True, False) or super().enqueue(queue, id)


class NeverAdded(wrong.Host):
    def do_enqueue(self, key: str, id: bytes) -> bool:
        super().do_enqueue(key, id)
        return False


class Prefetches(wrong.Host):
    """Takes two, and keeps one for the next call."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.kept: dict[str, bytes | None] = {}

    def do_dequeue(self, key: str) -> bytes | None:
        kept = self.kept.pop(key, None)
        if kept is not None:
            return kept
        first = super().do_dequeue(key)
        if first is not None:
            self.kept[key] = super().do_dequeue(key)
        return first


class EmptyIsNothing(wrong.Host):
    def do_dequeue(self, key: str) -> bytes | None:
        return super().do_dequeue(key) or None


class ServesUnstarted(wrong.Host):
    def answer(self, call: Callable[..., Answer], queue: str, *arguments: Any) -> Answer:
        self.started = True
        return super().answer(call, queue, *arguments)


class StartsRegardless(wrong.Host):
    def start(self) -> Answer:
        super().start()
        self.started = True
        return None


class NothingOnWrongType(wrong.Host):
    def dequeue(self, queue: str) -> Answer:
        answer = super().dequeue(queue)
        return None if isinstance(answer, Failed) and answer.kind == "wrong-type" else answer


class Marker(wrong.Host):
    """Keeps a key of its own beside the queue."""

    def do_enqueue(self, key: str, id: bytes) -> bool:
        self.client.set(f"{key}:last", id)
        return super().do_enqueue(key, id)


class Deletes(wrong.Host):
    """Clears the queues when it starts."""

    def make_ready(self, key: str) -> None:
        self.client.delete(key)


HOSTS: dict[str, type[wrong.Host]] = {
    **wrong.WRONG,
    "latin-1": encoded(lambda id: id.decode("utf-8", "replace").encode("latin-1", "replace")),
    "UTF-16": encoded(lambda id: id.decode("utf-8", "replace").encode("utf-16-le")),
    "NFC": text(lambda id: unicodedata.normalize("NFC", id)),
    "trimmed": text(str.strip),
    "lower case": text(str.lower),
    "truncated at NUL": encoded(lambda id: id.split(b"\0")[0] or id),
    "truncated at 255 bytes": encoded(lambda id: id[:255]),
    "numbers": text(as_number),
    "replaces bytes that are no text": encoded(
        lambda id: id.decode("utf-8", "replace").encode("utf-8")
    ),
    "colon in the key": keys(lambda prefix, queue: f"{prefix}:{KEY_ENDINGS[queue]}"),
    "singular key": keys(lambda prefix, queue: f"{prefix}-{queue}"),
    "one key for all": keys(lambda prefix, queue: f"{prefix}-workflows"),
    "falls through to another queue": FallsThrough,
    "enqueue is not atomic": NonAtomicEnqueue,
    "dequeue is not atomic": NonAtomicDequeue,
    "swallows errors": SwallowsErrors,
    "says added always": AlwaysAdded,
    "says added never": NeverAdded,
    "prefetches": Prefetches,
    "empty text is nothing": EmptyIsNothing,
    "serves before start": ServesUnstarted,
    "starts regardless": StartsRegardless,
    "wrong type is nothing": NothingOnWrongType,
    "a key beside the queue": Marker,
    "start clears the queues": Deletes,
}

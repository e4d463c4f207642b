"""A port in Python, wrong in one way: `python -m tests.wrong_port FAULT`.

The faults of `wrong.py` are faults of the algorithm; those below are faults of a port: encodings,
key names, states of its own, calls that are not atomic, and breaches of the protocol.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import unicodedata
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import redis

from tests import wrong
from uniqfifo_spec.conformance.protocol import decode_id, encode_id
from uniqfifo_spec.conformance.session import KEY_ENDINGS
from uniqfifo_spec.conformance.targets import Answer, Failed

Message = dict[str, Any]


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


class Port:
    """Reads requests and writes answers, as the protocol says."""

    def __init__(self, host: type[wrong.Host] = wrong.Host) -> None:
        self.make = host
        self.host: Any = None

    def run(self) -> None:
        for line in sys.stdin.buffer:
            request = json.loads(line)
            self.write({"seq": request["seq"], **self.answer(request)})
            if request["op"] == "stop":
                return

    def write(self, message: Message) -> None:
        sys.stdout.buffer.write(json.dumps(message).encode() + b"\n")
        sys.stdout.buffer.flush()

    def answer(self, request: Message) -> Message:
        if request["op"] == "hello":
            client = redis.Redis.from_url(request["redis"], protocol=2)
            bench: Any = SimpleNamespace(client=client)
            self.host = self.make(bench, request["prefix"], request["storage"])
            return {
                "ok": True,
                "implementation": {"name": "port", "version": "1", "language": "Python"},
                "storages": list(self.make.storages),
                "capabilities": ["added", "bytes"],
            }
        if request["op"] == "trace":
            return {"ok": True, "results": [self.result(*step) for step in request["steps"]]}
        result = self.result(request["op"], request.get("queue"), request.get("id"))
        return {"ok": "error" not in result, **result}

    def result(self, op: str, queue: str | None = None, id: Any = None) -> Message:
        match op:
            case "enqueue":
                answer = self.host.enqueue(queue, decode_id(id))
            case "dequeue":
                answer = self.host.dequeue(queue)
            case _:
                answer = getattr(self.host, op)()
        if isinstance(answer, Failed):
            return {"error": answer.kind, "message": answer.message}
        if op == "enqueue":
            return {"added": answer}
        return {"id": self.shown(answer)} if op == "dequeue" else {}

    def shown(self, id: bytes | None) -> Any:
        return None if id is None else encode_id(id)


class PrintsABanner(Port):
    def run(self) -> None:
        print("port 1.0 is ready", flush=True)
        super().run()


class Logs(Port):
    def write(self, message: Message) -> None:
        super().write(message)
        print("INFO answered", flush=True)


class OutOfOrder(Port):
    def write(self, message: Message) -> None:
        super().write({**message, "seq": message["seq"] + 1})


class Hangs(Port):
    def answer(self, request: Message) -> Message:
        if request["seq"] == 3:
            time.sleep(3600)
        return super().answer(request)


class Dies(Port):
    def answer(self, request: Message) -> Message:
        if request["seq"] == 3:
            sys.exit("out of luck")
        return super().answer(request)


class Numbers(Port):
    def shown(self, id: bytes | None) -> Any:
        return 7 if id else super().shown(id)


class NotANumber(Port):
    def shown(self, id: bytes | None) -> Any:
        return float("nan") if id else super().shown(id)


class LoneSurrogate(Port):
    def shown(self, id: bytes | None) -> Any:
        return "\ud800" if id else super().shown(id)


class LeavesAChild(Port):
    def run(self) -> None:
        subprocess.Popen(["sleep", "3600"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        super().run()


class DoesNotStop(Port):
    def run(self) -> None:
        super().run()
        time.sleep(3600)


class CutsALine(Port):
    def write(self, message: Message) -> None:
        if message["seq"] == 3:
            os.write(1, json.dumps(message).encode()[:5])
            sys.exit()
        super().write(message)


class Skips(Port):
    def answer(self, request: Message) -> Message:
        return {"skipped": "not today"} if request["op"] == "dequeue" else super().answer(request)


class FloodsStderr(Port):
    """This one is right: standard error is free."""

    def write(self, message: Message) -> None:
        os.write(2, b"x" * (1 << 20 if message["seq"] == 0 else 1024) + b"\n")
        super().write(message)


PROTOCOL: dict[str, tuple[type[Port], str]] = {
    "prints a banner": (PrintsABanner, "not-json"),
    "logs to stdout": (Logs, "not-json"),
    "answers out of order": (OutOfOrder, "out-of-order"),
    "hangs": (Hangs, "hangs"),
    "dies": (Dies, "dies"),
    "ids as numbers": (Numbers, "bad-answer"),
    "NaN": (NotANumber, "not-json"),
    "lone surrogate": (LoneSurrogate, "bad-id"),
    "leaves a child": (LeavesAChild, "left-a-child"),
    "does not stop": (DoesNotStop, "does-not-stop"),
    "cuts a line": (CutsALine, "cut-line"),
    "skips what is not optional": (Skips, "skipped"),
}
"""Breaches of the protocol, and what the kit calls them."""

RIGHT: dict[str, type[Port]] = {"right": Port, "floods stderr": FloodsStderr}


def main(fault: str) -> None:
    if fault in HOSTS:
        Port(HOSTS[fault]).run()
    else:
        ({name: port for name, (port, _) in PROTOCOL.items()} | RIGHT)[fault]().run()


if __name__ == "__main__":
    main(sys.argv[1])

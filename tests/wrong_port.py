"""A port in Python, wrong in one way: `python -m tests.wrong_port FAULT`.

Its host is one of `wrong_hosts.py`, or it breaks the protocol in one of the ways below.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from types import SimpleNamespace
from typing import Any

import redis

from tests import wrong
from tests.wrong_hosts import HOSTS
from uniqfifo_spec.conformance.protocol import decode_id, encode_id
from uniqfifo_spec.conformance.targets import Failed

Message = dict[str, Any]


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
            if request["storage"] not in self.make.storages:
                return {"ok": False, "error": "unsupported", "message": request["storage"]}
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

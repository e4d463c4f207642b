"""A trace of the explorer on a live server, command by command."""

import os
from base64 import b64decode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import redis

from uniqfifo_spec.explore.trace_json import plain

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Replayed:
    """What came of a trace, and why if it was not confirmed."""

    outcome: Literal["confirmed", "differs", "undecided"]
    why: str = ""


def replay(trace: Json, client: redis.Redis, scripts: Mapping[str, str]) -> Replayed:
    """Take every step of `trace` under a fresh prefix, which is removed in the end.

    Args:
        trace: As `trace_as_json` writes it.
        scripts: The text of each script, by design and call, as in `list.enqueue`.
    """
    if trace["needs_clock"]:
        return Replayed("undecided", "it needs the server's clock to repeat a reading or go back")
    with _fresh_keys(client) as keys:
        for key, value in zip(keys, trace["initial"], strict=True):
            _put(client, key, value)
        for number, step in enumerate([*trace["steps"], *trace["aftermath"]], start=1):
            if step["command"] is not None:
                reply = _send(client, step, keys, scripts)
                if not _same_reply(step, reply):
                    return _differs(number, "the reply", step["reply"], reply)
            found = [_seen(client, key) for key in keys]
            expected = [{"type": key["type"], "ids": key["ids"]} for key in step["keys"]]
            if found != expected:
                return _differs(number, "what the keys hold", expected, found)
    return Replayed("confirmed")


def _differs(step: int, what: str, model: Any, server: Any) -> Replayed:
    return Replayed("differs", f"step {step}, {what}: model {model!r}, server {server!r}")


@contextmanager
def _fresh_keys(client: redis.Redis) -> Iterator[list[str]]:
    prefix = f"{{uniqfifo-replay-{os.urandom(6).hex()}}}"  # in braces: one slot in a cluster
    keys = [f"{prefix}-queue", f"{prefix}-set"]
    try:
        yield keys
    finally:
        client.delete(*keys)


def _put(client: redis.Redis, key: str, value: Json) -> None:
    ids = [_wire(id) for id in value["ids"]]
    match value["type"]:
        case "list":
            client.rpush(key, *ids)
        case "set":
            client.sadd(key, *ids)
        case "zset":
            for score, id in zip(value["scores"], ids, strict=True):
                client.execute_command("ZADD", key, score, id)


def _send(client: redis.Redis, step: Json, keys: list[str], scripts: Mapping[str, str]) -> Any:
    """The reply as JSON; an error as its first word."""
    command = step["command"]
    if isinstance(command, dict):
        arguments = [_wire(argument) for argument in command["arguments"]]
        sent = ["EVAL", scripts[command["script"]], 1, keys[0], *arguments]
    else:
        sent = [keys[part["key"]] if _is_key(part) else _wire(part) for part in command]
    try:
        return plain(client.execute_command(*sent))
    except redis.ResponseError as error:
        # Inside a script, servers up to 6.2 wrap the code.
        text = str(error)
        return {"error": "WRONGTYPE" if "WRONGTYPE" in text else text.partition(" ")[0]}


def _same_reply(step: Json, reply: Any) -> bool:
    """Scripts answer 1 and 0 where the model says true and false; a migration counts its ids."""
    expected = step["reply"]
    if isinstance(step["command"], dict) and expected is None and isinstance(reply, int):
        return bool(step["call"] == "start")
    return bool(reply == expected)


READ: dict[str, tuple[str | int, ...]] = {
    "list": ("LRANGE", 0, -1),
    "zset": ("ZRANGE", 0, -1),
    "set": ("SMEMBERS",),
}


def _seen(client: redis.Redis, key: str) -> Json:
    kind = client.execute_command("TYPE", key).decode()
    found: Any = []
    if kind in READ:
        name, *arguments = READ[kind]
        found = client.execute_command(name, key, *arguments)
    return {"type": kind, "ids": plain(sorted(found) if kind == "set" else found)}


def _is_key(part: Any) -> bool:
    return isinstance(part, dict) and "key" in part


def _wire(part: Any) -> Any:
    if isinstance(part, dict):
        return b64decode(part["b64"])
    return part.encode() if isinstance(part, str) else part

"""Wrong implementations, one fault each, to see that the checks can fail. Two of them are right.

Each is the reference with one change: in a script's text, or in what a host does round the scripts.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, ClassVar

import redis

from uniqfifo import scripts
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.session import KEY_ENDINGS, Implementation
from uniqfifo_spec.conformance.targets import Answer, Failed


class Host:
    """The reference's scripts, called without its client layer, so that each can be replaced."""

    storages = ("list", "zset", "zset-strict")
    migrate = scripts.MIGRATE.text
    dequeue_zset = scripts.ZSET_DEQUEUE.text
    dequeue_list = "return redis.call('LPOP', KEYS[1])"
    enqueue_texts: ClassVar = {
        "list": scripts.LIST_ENQUEUE.text,
        "zset": scripts.ZSET_ENQUEUE.text,
        "zset-strict": scripts.ZSET_STRICT_ENQUEUE.text,
    }
    migrated_queues = tuple(KEY_ENDINGS)

    def __init__(self, bench: Bench, prefix: str, storage: str) -> None:
        self.client = bench.client
        self.prefix = prefix
        self.storage = storage
        self.started = False

    def start(self) -> Answer:
        self.started = False
        answers = [self.answer(self.make_ready, queue) for queue in self.migrated_queues]
        failed = [answer for answer in answers if isinstance(answer, Failed)]
        self.started = not failed
        return failed[0] if failed else None

    def make_ready(self, key: str) -> None:
        if self.storage != "list":
            self.run(self.migrate, key)
        elif self.client.type(key) not in (b"none", b"list"):
            raise redis.ResponseError("WRONGTYPE")

    def enqueue(self, queue: str, id: bytes) -> Answer:
        return self.answer(self.do_enqueue, queue, id)

    def do_enqueue(self, key: str, id: bytes) -> bool:
        return bool(self.run(self.enqueue_texts[self.storage], key, id))

    def dequeue(self, queue: str) -> Answer:
        return self.answer(self.do_dequeue, queue)

    def do_dequeue(self, key: str) -> bytes | None:
        text = self.dequeue_list if self.storage == "list" else self.dequeue_zset
        id: bytes | None = self.run(text, key)
        return id

    def stop(self) -> Answer:
        self.started = False
        return None

    def key(self, queue: str) -> str:
        return f"{self.prefix}-{KEY_ENDINGS[queue]}"

    def run(self, text: str, key: str, *arguments: Any) -> Any:
        return self.client.eval(text, 1, key, *arguments)

    def answer(self, call: Callable[..., Answer], queue: str, *arguments: Any) -> Answer:
        starting = call == self.make_ready
        if not (self.started or starting):
            return Failed("not-started")
        try:
            return call(self.key(queue), *arguments)
        except redis.ResponseError as error:
            kind = "wrong-type" if "WRONGTYPE" in str(error) else "not-executed"
            return Failed(kind, str(error))


def _edited(text: str, *edits: tuple[str, str]) -> str:
    for old, new in edits:
        assert old in text, f"the script no longer says {old!r}"
        text = text.replace(old, new)
    return text


def _enqueue(storage: str, *edits: tuple[str, str]) -> type[Host]:
    """A host whose enqueue in this storage is edited."""
    texts = {**Host.enqueue_texts, storage: _edited(Host.enqueue_texts[storage], *edits)}
    return type("Wrong", (Host,), {"enqueue_texts": texts, "storages": (storage,)})


def _list(**texts: str) -> type[Host]:
    return type("Wrong", (Host,), {**texts, "storages": ("list",)})


def _zset(**texts: str) -> type[Host]:
    return type("Wrong", (Host,), {**texts, "storages": ("zset",)})


def _migrate(*edits: tuple[str, str]) -> type[Host]:
    return _zset(migrate=_edited(Host.migrate, *edits))


LINSERT = "redis.call('LINSERT', key, 'BEFORE', id, id)"
NOW = "time[1] * 1000000 + time[2]"


class ClientClock(Host):
    storages = ("zset",)

    def do_enqueue(self, key: str, id: bytes) -> bool:
        return bool(self.client.execute_command("ZADD", key, "NX", time.time_ns() // 1000, id))


class OneQueueOnly(Host):
    storages = ("zset",)
    migrated_queues = ("workflow",)


class SwallowsWrongType(Host):
    def answer(self, call: Callable[..., Answer], queue: str, *arguments: Any) -> Answer:
        answer = super().answer(call, queue, *arguments)
        wrong = isinstance(answer, Failed) and answer.kind == "wrong-type"
        return None if wrong else answer


class TimeToLive(Host):
    def do_enqueue(self, key: str, id: bytes) -> bool:
        added = super().do_enqueue(key, id)
        self.client.expire(key, 3600)
        return added


class LocalCache(Host):
    def __init__(self, bench: Bench, prefix: str, storage: str) -> None:
        super().__init__(bench, prefix, storage)
        self.seen: set[tuple[str, bytes]] = set()

    def do_enqueue(self, key: str, id: bytes) -> bool:
        if (key, id) in self.seen:
            return False
        self.seen.add((key, id))
        return super().do_enqueue(key, id)


WRONG: dict[str, type[Host]] = {
    "RPUSH always": _enqueue("list", (f"{LINSERT} <= 0", "true")),
    "LPUSH": _enqueue("list", ("'RPUSH'", "'LPUSH'")),
    "RPOP": _list(dequeue_list="return redis.call('RPOP', KEYS[1])"),
    "LREM -1": _enqueue(
        "list", ("redis.call('LREM', key, 1, id)", "redis.call('LREM', key, -1, id)")
    ),
    "LREM 0": _enqueue(
        "list", ("redis.call('LREM', key, 1, id)", "redis.call('LREM', key, 0, id)")
    ),
    "LINSERT taken as found when 0": _enqueue("list", (f"{LINSERT} <= 0", f"{LINSERT} < 0")),
    "LINSERT taken as found when -1": _enqueue("list", (f"{LINSERT} <= 0", f"{LINSERT} == 0")),
    "ZADD without NX": _enqueue("zset", ("'NX', ", "")),
    "seconds only": _enqueue("zset", (NOW, "tonumber(time[1])")),
    "milliseconds": _enqueue("zset", (NOW, "time[1] * 1000 + math.floor(time[2] / 1000)")),
    "tostring score": _enqueue("zset", (NOW, f"tostring({NOW})")),
    "unpadded glue": _enqueue("zset", (NOW, "time[1] .. time[2]")),
    "client clock": ClientClock,
    "highest without + 1": _enqueue(
        "zset-strict", ("tonumber(last[2])) + 1", "tonumber(last[2]))")
    ),
    "TIME only, as strict": type(
        "Wrong",
        (Host,),
        {
            "storages": ("zset-strict",),
            "enqueue_texts": {**Host.enqueue_texts, "zset-strict": Host.enqueue_texts["zset"]},
        },
    ),
    "ZREVRANGE": _zset(dequeue_zset=_edited(Host.dequeue_zset, ("'ZRANGE'", "'ZREVRANGE'"))),
    "dequeue without removal": _zset(
        dequeue_zset=_edited(Host.dequeue_zset, ("redis.call('ZREM', key, first)", ""))
    ),
    "migrate keeps the last occurrence": _migrate(
        ("'ZADD', key, 'NX', unpack", "'ZADD', key, unpack"), ("if not seen[id] then", "do")
    ),
    "migrate reverses": _migrate(
        ("batch[#batch + 1] = position", "batch[#batch + 1] = #ids - position")
    ),
    "migrate is off by one": _migrate(
        ("batch[#batch + 1] = position", "batch[#batch + 1] = position - 1")
    ),
    "migrate scores by TIME": _migrate(
        (
            "batch[#batch + 1] = position",
            "batch[#batch + 1] = redis.call('TIME')[1] * 1000000 + position",
        )
    ),
    "migrate over an existing ZSET": _migrate(
        (
            "if found == 'none' or found == 'zset' then\n  return 0",
            "if found == 'none' or found == 'zset' then\n  redis.call('DEL', key)\n  return 0",
        )
    ),
    "migrate of one queue only": OneQueueOnly,
    "migrate over a string": _migrate(
        (
            "elseif found ~= 'list' then",
            "elseif found == 'string' then return redis.call('DEL', key)\n"
            "elseif found ~= 'list' then",
        )
    ),
    "swallows WRONGTYPE": SwallowsWrongType,
    "time to live on the key": TimeToLive,
    "local cache of seen ids": LocalCache,
}

EQUIVALENT: dict[str, type[Host]] = {
    "LINSERT AFTER": _enqueue("list", (LINSERT, LINSERT.replace("BEFORE", "AFTER"))),
    "ZPOPMIN": _zset(dequeue_zset="return redis.call('ZPOPMIN', KEYS[1])[1] or false"),
}


def implementation(name: str) -> Implementation:
    host = {**WRONG, **EQUIVALENT}[name]
    source = (
        f"__import__('tests.wrong').wrong.implementation({name!r}).open(bench, prefix, storage)"
    )
    return Implementation(name, host, source, host.storages)

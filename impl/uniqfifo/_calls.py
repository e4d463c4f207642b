"""What each operation sends and how its reply reads: the half that sync and asyncio share."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeVar

from uniqfifo import scripts
from uniqfifo.errors import WrongKeyType
from uniqfifo.scripts import Script
from uniqfifo.storage import Storage, decode_id, encode_id

T = TypeVar("T")


class Call(NamedTuple, Generic[T]):
    """One operation: a script or a plain command, its key and arguments, and a reader."""

    send: Script | str
    key: str
    arguments: tuple[bytes | int, ...]
    read: Callable[[Any], T]


_ENQUEUE = {
    Storage.LIST: scripts.LIST_ENQUEUE,
    Storage.ZSET: scripts.ZSET_ENQUEUE,
    Storage.ZSET_STRICT: scripts.ZSET_STRICT_ENQUEUE,
}


def _id(reply: bytes | None) -> str | None:
    return None if reply is None else decode_id(reply)


def _ids(reply: list[bytes]) -> list[str]:
    return [decode_id(wire) for wire in reply]


def _text(reply: bytes) -> str:
    return reply.decode()


def _text_or_none(reply: bytes | None) -> str | None:
    return None if reply is None else reply.decode()


@dataclass(frozen=True, slots=True)
class Calls:
    """The operations on one key in one storage."""

    key: str
    storage: Storage

    def enqueue(self, id: str) -> Call[bool]:
        return Call(_ENQUEUE[self.storage], self.key, (encode_id(id),), bool)

    def dequeue(self) -> Call[str | None]:
        return Call(self._pick("LPOP", scripts.ZSET_DEQUEUE), self.key, (), _id)

    def size(self) -> Call[int]:
        return Call(self._pick("LLEN", "ZCARD"), self.key, (), int)

    def position(self, id: str) -> Call[int | None]:
        def place(reply: int | None) -> int | None:
            return reply

        send = self._pick(scripts.LIST_POSITION, "ZRANK")
        return Call(send, self.key, (encode_id(id),), place)

    def peek(self, count: int) -> Call[list[str]]:
        if count < 0:
            raise ValueError(f"cannot peek at {count} ids")
        # ZRANGE and LRANGE count -1 from the end, so none is asked for as an empty range.
        first, last = (0, count - 1) if count else (1, 0)
        return Call(self._pick("LRANGE", "ZRANGE"), self.key, (first, last), _ids)

    def remove(self, id: str) -> Call[bool]:
        wire = encode_id(id)
        if self.storage is Storage.LIST:
            return Call("LREM", self.key, (0, wire), bool)
        return Call("ZREM", self.key, (wire,), bool)

    def migrate(self) -> Call[int]:
        if self.storage is Storage.LIST:
            raise ValueError("a list queue is not migrated: choose the storage zset or zset-strict")
        return Call(scripts.MIGRATE, self.key, (), int)

    def roll_back(self) -> Call[int]:
        if self.storage is not Storage.LIST:
            raise ValueError("a zset queue is not rolled back: choose the storage list")
        return Call(scripts.ROLLBACK, self.key, (), int)

    def type(self) -> Call[str]:
        return Call("TYPE", self.key, (), _text)

    def eviction(self) -> Call[str | None]:
        return Call(scripts.EVICTION, self.key, (), _text_or_none)

    def wrong_type(self, found: str | None) -> WrongKeyType:
        """The error for a key that holds a `found`, with what to do about it."""
        if found == "list":
            cure = "start(), or migrate(), turns the LIST into a ZSET in place"
        elif found == "zset":
            cure = (
                "this queue was migrated: use the storage zset or zset-strict, "
                "or roll_back(), which turns the ZSET into a LIST in place"
            )
        else:
            cure = "this is no queue: choose another prefix, or remove the key"
        return WrongKeyType(self.key, self.storage.key_type, found, cure)

    def _pick(self, for_list: Script | str, for_zset: Script | str) -> Script | str:
        return for_list if self.storage is Storage.LIST else for_zset

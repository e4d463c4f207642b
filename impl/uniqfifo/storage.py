"""How a queue lies in Redis: storages, key names, and ids on the wire."""

from enum import StrEnum

from uniqfifo.errors import InvalidId


class Storage(StrEnum):
    """How pending ids are stored. See SPEC.md for what each promises."""

    LIST = "list"
    ZSET = "zset"
    ZSET_STRICT = "zset-strict"

    @property
    def key_type(self) -> str:
        """The Redis type of the key: `list` or `zset`."""
        return "list" if self is Storage.LIST else "zset"


class QueueType(StrEnum):
    """WorkflowCore's three queues."""

    WORKFLOW = "workflow"
    EVENT = "event"
    INDEX = "index"

    def key(self, prefix: str) -> str:
        """The Redis key of this queue."""
        return f"{prefix}-{_KEY_ENDINGS[self]}"


_KEY_ENDINGS = {
    QueueType.WORKFLOW: "workflows",
    QueueType.EVENT: "events",
    QueueType.INDEX: "index",
}


def encode_key(key: str) -> bytes:
    """A key as it goes over the wire, whatever encoding a client was given for its own text."""
    return key.encode("utf-8", "surrogateescape")


def encode_id(id: str) -> bytes:
    """An id as it goes over the wire: UTF-8, with foreign bytes as lone surrogates.

    Raises TypeError for anything but `str`, InvalidId for an id that is empty or that would not
    come back as the same text.
    """
    if not isinstance(id, str):
        raise TypeError(f"an id is a str, not {type(id).__name__}: {id!r}")
    if not id:
        raise InvalidId("an id may not be empty")
    try:
        wire = id.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise InvalidId(f"an id may not hold half a surrogate pair: {id!r}") from None
    if decode_id(wire) != id:
        raise InvalidId(f"these escaped bytes are text, and would come back as it: {id!r}")
    return wire


def decode_id(wire: bytes) -> str:
    """The id that these bytes stand for; never fails, whoever wrote them."""
    return wire.decode("utf-8", "surrogateescape")


def printable(text: str) -> str:
    """Text for people, `repr`'s escapes for what might steer a terminal: keys may hold anything."""
    return "".join(each if each.isprintable() else repr(each)[1:-1] for each in text)

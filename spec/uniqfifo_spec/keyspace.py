"""What a Redis key can hold, as far as the designs use it, and the queue that it stands for."""

from dataclasses import dataclass

from uniqfifo_spec.fifo import Id, Pending

Score = int | float


@dataclass(frozen=True, slots=True)
class List:
    """A LIST, left end first. May hold the same id more than once."""

    ids: tuple[Id, ...]


@dataclass(frozen=True, slots=True)
class ZSet:
    """A sorted set as (score, id) in ascending order: by score, then by the bytes of the id."""

    entries: tuple[tuple[Score, Id], ...]


@dataclass(frozen=True, slots=True)
class Set:
    """A plain set. Kept sorted, so that equal sets are equal values."""

    ids: tuple[Id, ...]


@dataclass(frozen=True, slots=True)
class Other:
    """A value of a type that no design uses, such as a string: known by its type alone."""

    kind: str


Value = List | ZSet | Set | Other | None
"""A key's value; None is an absent key. No collection is ever empty: it vanishes instead."""


def pending(value: Value) -> Pending:
    """The refinement: the abstract queue that a key's value stands for, in leaving order.

    Raises ValueError for a value that no queue can be stored in.
    """
    match value:
        case None:
            return ()
        case List(ids):
            return ids
        case ZSet(entries):
            return tuple(id for _, id in entries)
        case _:
            raise ValueError(f"not a queue: {value!r}")


def kind(value: Value) -> str:
    """The answer of TYPE: `none`, `list`, `zset`, `set`, or another type's name."""
    match value:
        case None:
            return "none"
        case Other(name):
            return name
        case _:
            return type(value).__name__.lower()

"""What an operator should know of the three keys of a deployment, as sentences."""

from collections.abc import Iterator, Sequence
from math import inf

from uniqfifo._calls import Calls
from uniqfifo._facts import TOP_SCORE, Facts
from uniqfifo.storage import Storage


def usable_by(keys: Sequence[Facts]) -> list[Storage]:
    """The storages that can use all of these keys as they are."""
    return [storage for storage in Storage if all(storage in facts.usable_by for facts in keys)]


def is_known(keys: Sequence[Facts]) -> bool:
    """Has everything been told that could be a problem?"""
    return not any({"type", "ttl"} & facts.unknown.keys() for facts in keys)


def problems(keys: Sequence[Facts]) -> Iterator[str]:
    """What is wrong with these keys, and what to do about it; one sentence each."""
    for facts in keys:
        if facts.type is not None and not facts.usable_by:
            cure = Calls(facts.key, Storage.ZSET).wrong_type(facts.type).cure
            yield f"{facts.key} holds a {facts.type}; {cure}"
        if facts.ttl is not None:
            yield (
                f"{facts.key} has a time to live: in {facts.ttl / 1000:,.0f} s every pending id on "
                "it is gone. PERSIST takes it off"
            )
    if {"list", "zset"} <= {facts.type for facts in keys}:
        yield (
            "some keys are a LIST and some a ZSET, so no storage can use them all: migrate turns "
            "each LIST into a ZSET, rollback each ZSET into a LIST"
        )


def notes(keys: Sequence[Facts]) -> Iterator[str]:
    """What is not wrong, and yet good to know; one sentence each."""
    for primary in dict.fromkeys(facts.replica_of for facts in keys):
        if primary:
            read = [facts.key for facts in keys if facts.replica_of == primary]
            yield (
                f"{', '.join(read)} {'was' if len(read) == 1 else 'were'} read from a replica of "
                f"{primary}, which may lag behind it: what counts is what the primary holds"
            )
    for facts in keys:
        if facts.copies:
            copies = f"{facts.copies:,} further {'copy' if facts.copies == 1 else 'copies'}"
            yield (
                f"{facts.key} holds {copies} of ids that are pending already, as legacy hosts "
                "leave them: they drain one by one, and migrate keeps the first of each"
            )
        if facts.ahead and facts.ahead != inf:
            yield (
                f"{facts.key}: the highest score is {facts.ahead:,} µs ahead of the server's "
                f"clock, {facts.ahead / 1e6:,.1f} s. Until the clock is past it, what zset hosts "
                "enqueue overtakes that id; zset-strict hosts keep the order"
            )
        if facts.top is not None and facts.top >= TOP_SCORE:
            yield (
                f"{facts.key}: no score is left above the highest, so zset-strict hosts cannot "
                "enqueue until that id has left"
            )
    for refusal, names in _untold(keys).items():
        yield f"the server did not tell {', '.join(names)}: {refusal}"


def _untold(keys: Sequence[Facts]) -> dict[str, list[str]]:
    """Facts that are not known, by what the server said; each once."""
    untold: dict[str, list[str]] = {}
    for facts in keys:
        for name, refusal in facts.unknown.items():
            names = untold.setdefault(refusal, [])
            if name not in names:
                names.append(name)
    return untold

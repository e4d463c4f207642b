"""Wrong designs, one fault each, and some that are right after all.

They show what a test vector is good for: its `kills` names those that it tells from the design.
Faults that show only between calls are not here: steps that others come between, a clock that is
not the server's, a memory of one's own, a time to live.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from uniqfifo_spec.designs import (
    LIST,
    STORAGES,
    TOP_SCORE,
    ZSET,
    ZSET_STRICT,
    Design,
    atomic,
    legacy_enqueue,
)
from uniqfifo_spec.designs import zset_dequeue as in_two_steps
from uniqfifo_spec.mutants import calls, migrations, texts
from uniqfifo_spec.mutants.commands import LInsertAfter, LPush, LRemAll, LRemLast, ZAdd

Mutants = dict[str, tuple[Design, ...]]
"""One fault each, as it looks in every storage that can have it. `Design.name` is the storage."""


def _list(**changes: Any) -> tuple[Design, ...]:
    return (replace(LIST, **changes),)


def _list_enqueue(**parts: Any) -> tuple[Design, ...]:
    return _list(enqueue=atomic(calls.list_enqueue(**parts)))


def _zsets(**changes: Any) -> tuple[Design, ...]:
    return replace(ZSET, **changes), replace(ZSET_STRICT, **changes)


def _zset_enqueues(**parts: Any) -> tuple[Design, ...]:
    return (
        replace(ZSET, enqueue=atomic(calls.zset_enqueue(**parts))),
        replace(ZSET_STRICT, enqueue=atomic(calls.strict_enqueue(**parts))),
    )


def _strict_enqueue(**parts: Any) -> tuple[Design, ...]:
    return (replace(ZSET_STRICT, enqueue=atomic(calls.strict_enqueue(**parts))),)


def _migrate(entries: Callable[..., migrations.Entries]) -> tuple[Design, ...]:
    return _zsets(start=atomic(migrations.migrating(entries)))


def _all(change: texts.Change) -> tuple[Design, ...]:
    return tuple(change(design) for design in STORAGES.values())


MUTANTS: Mutants = {
    "RPUSH always": _list(enqueue=calls.without_twin),
    "LPUSH": _list_enqueue(push=LPush),
    "RPOP": _list(dequeue=calls.rpop),
    "LREM -1": _list_enqueue(take_back=LRemLast),
    "LREM 0": _list_enqueue(take_back=LRemAll),
    "LINSERT taken as found when 0": _list_enqueue(absent=lambda length: length < 0),
    "LINSERT taken as found when -1": _list_enqueue(absent=lambda length: length == 0),
    "ZADD without NX": _zset_enqueues(add=ZAdd),
    "seconds only": _zset_enqueues(reading=calls.seconds),
    "milliseconds": _zset_enqueues(reading=calls.milliseconds),
    "tostring score": _zset_enqueues(reading=calls.fourteen_digits),
    "unpadded glue": _zset_enqueues(reading=calls.unpadded),
    "highest without + 1": _strict_enqueue(above=lambda highest: highest),
    "highest not rounded down": _strict_enqueue(above=lambda highest: highest + 1),
    "no score limit": _strict_enqueue(limit=float("inf")),
    "score limit too low": _strict_enqueue(limit=TOP_SCORE - 1),
    "TIME only, as strict": (replace(ZSET_STRICT, enqueue=ZSET.enqueue),),
    "strict score, as zset": (replace(ZSET, enqueue=ZSET_STRICT.enqueue),),
    "ZREVRANGE": _zsets(dequeue=atomic(calls.zset_dequeue(lambda entries: entries[-1][1]))),
    "ties in UTF-16 order": _zsets(
        dequeue=atomic(calls.zset_dequeue(lambda entries: min(entries, key=calls.in_utf_16)[1]))
    ),
    "dequeue without removal": _zsets(dequeue=atomic(calls.without_removal)),
    "migrate keeps the last occurrence": _migrate(migrations.last_occurrence),
    "migrate reverses": _migrate(migrations.reversed_order),
    "migrate is off by one": _migrate(migrations.off_by_one),
    "migrate closes gaps": _migrate(migrations.without_gaps),
    "migrate scores by TIME": _migrate(migrations.scored_by_time),
    "migrate stops after a batch": _migrate(migrations.first_batch_only),
    "migrate drops the last batch": _migrate(migrations.full_batches_only),
    "migrate loses one between batches": _migrate(migrations.one_lost_at_each_border),
    "migrate over an existing ZSET": _zsets(start=atomic(migrations.overwriting("zset"))),
    "migrate over a string": _zsets(start=atomic(migrations.overwriting("string"))),
    "start looks at no key": _all(lambda design: replace(design, start=migrations.nothing)),
    "swallows WRONGTYPE": _all(texts.quiet),
    "answers added, always": _all(texts.always_added),
    "latin-1": _all(texts.LATIN_1),
    "NFC": _all(texts.spelt(texts.nfc)),
    "trimmed": _all(texts.spelt(str.strip)),
    "lower-cased": _all(texts.spelt(str.lower)),
    "truncated at NUL": _all(texts.spelt(texts.up_to_nul)),
    "cut at a line break": _all(texts.spelt(texts.first_line)),
    "cut at 65,535 bytes": _all(texts.encoded(lambda id: id[:65_535])),
    "numbers": _all(texts.spelt(texts.as_number)),
    "quoted as JSON": _all(texts.IN_QUOTES),
    "empty text as nothing": _all(texts.answering(texts.as_nothing)),
    "nothing as empty text": _all(texts.answering(texts.as_empty)),
    "undecodable bytes replaced": _all(texts.answering(texts.with_replacements)),
    "undecodable bytes lost": _all(texts.answering(texts.strictly_decoded)),
}

EQUIVALENT: Mutants = {
    "LINSERT AFTER": _list_enqueue(insert=LInsertAfter),
    "ZPOPMIN": _zsets(dequeue=atomic(calls.zpopmin)),
    # Wrong, but nobody is there to come in between.
    "LIST enqueue in several steps": _list(enqueue=legacy_enqueue),
    "ZSET dequeue in several steps": _zsets(dequeue=in_two_steps),
    "ZSET enqueue in several steps": (replace(ZSET, enqueue=calls.zset_enqueue()),),
}

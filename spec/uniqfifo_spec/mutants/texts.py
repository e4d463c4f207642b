"""Ids gone wrong on their way to the key or back, in any design."""

import json
import unicodedata
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace

from uniqfifo_spec.commands import Error, Type
from uniqfifo_spec.designs import Answer, Design, Program
from uniqfifo_spec.fifo import Id

Change = Callable[[Design], Design]


def _same(id: Id) -> Id:
    return id


def encoded(encode: Callable[[Id], Id], decode: Callable[[Id], Id] = _same) -> Change:
    """Enqueue sends another id; dequeue tells of another one."""

    def change(design: Design) -> Design:
        def dequeue() -> Program:
            head = yield from design.dequeue()
            return decode(head) if isinstance(head, bytes) else head

        return replace(design, enqueue=lambda id: design.enqueue(encode(id)), dequeue=dequeue)

    return change


def spelt(change: Callable[[str], str]) -> Change:
    """Enqueue sends another text."""
    return encoded(lambda id: change(id.decode()).encode())


def answering(change: Callable[[Answer], Answer]) -> Change:
    """Dequeue tells something else."""

    def changed(design: Design) -> Design:
        def dequeue() -> Program:
            return change((yield from design.dequeue()))

        return replace(design, dequeue=dequeue)

    return changed


def _unquoted(id: Id) -> Id:
    with suppress(ValueError, AttributeError):
        text: str = json.loads(id)
        return text.encode()
    return id


LATIN_1 = encoded(
    lambda id: id.decode("utf-8", "replace").encode("latin-1", "replace"),
    lambda id: id.decode("latin-1").encode(),
)
IN_QUOTES = encoded(
    lambda id: json.dumps(id.decode("utf-8", "replace")).encode(),
    _unquoted,
)


def as_number(text: str) -> str:
    try:
        number = float(text)
        return str(int(number)) if number == int(number) else repr(number)
    except (ValueError, OverflowError):
        return text


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def first_line(text: str) -> str:
    return (text.splitlines() or [text])[0]


def up_to_nul(text: str) -> str:
    return text.partition("\0")[0]


def as_nothing(answer: Answer) -> Answer:
    """As `if not id` does in many languages."""
    return answer or None if isinstance(answer, bytes) else answer


def as_empty(answer: Answer) -> Answer:
    return b"" if answer is None else answer


def with_replacements(answer: Answer) -> Answer:
    return answer.decode("utf-8", "replace").encode() if isinstance(answer, bytes) else answer


def strictly_decoded(answer: Answer) -> Answer:
    """The id has left the key already when its decoding fails."""
    with suppress(UnicodeDecodeError):
        if isinstance(answer, bytes):
            answer.decode()
        return answer
    return Error("DECODING")


def quiet(design: Design) -> Design:
    """A key of another type is no error, but an empty queue."""
    own = ("none", "list" if design.name == "list" else "zset")

    def looking_first(
        program: Callable[..., Program], usable: Collection[str]
    ) -> Callable[..., Program]:
        def looked(*arguments: Id) -> Program:
            if (yield Type()) not in usable:
                return None
            return (yield from program(*arguments))

        return looked

    return replace(
        design,
        enqueue=looking_first(design.enqueue, own),
        dequeue=looking_first(design.dequeue, own),
        start=looking_first(design.start, (*own, "list")),
    )


def always_added(design: Design) -> Design:
    """Enqueue tells everyone that the id was added."""

    def enqueue(id: Id) -> Program:
        answer = yield from design.enqueue(id)
        return answer if isinstance(answer, Error) else True

    return replace(design, enqueue=enqueue)

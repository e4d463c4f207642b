"""Vectors as JSON and back. `data/vectors.schema.json` describes the form; PORTING.md explains it.

Ids are never numbers, and scores are decimal text, since many readers of JSON round a number. The
text is pure ASCII, so that no reader can take an id's line separator for the end of a line.
"""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from uniqfifo_spec.fifo import Id
from uniqfifo_spec.keyspace import List, Other, Score, Value, ZSet, kind
from uniqfifo_spec.vectors.vector import QUEUES, Answer, Held, Refused, Step, Timed, Vector

VERSION = 1
CLOCK_SCORE = "clock"
"""Stands for a score that the server's clock gave."""

_LONG = 1024  # bytes; a longer id of one character is written as a repetition
_RUN = 10  # so many successive numbers as ids are written as their first and last

Scores = Sequence[Score | None]


def text_of(vectors: Sequence[Vector]) -> str:
    """A file of vectors: one field a line, so that a difference can be read."""
    blocks = []
    for vector in vectors:
        lines = [f'      "{name}": {json.dumps(x)}' for name, x in as_json(vector).items()]
        blocks.append("    {\n" + ",\n".join(lines) + "\n    }")
    head = '{\n  "$schema": "vectors.schema.json",\n'
    head += f'  "version": {VERSION},\n  "vectors": [\n'
    return head + ",\n".join(blocks) + "\n  ]\n}\n"


def read(text: str, topic: str) -> list[Vector]:
    """The vectors of a file."""
    return [from_json(each, topic) for each in json.loads(text)["vectors"]]


def as_json(vector: Vector) -> dict[str, Any]:
    return {
        "name": vector.name,
        "clause": vector.clause,
        "storages": list(vector.storages),
        "floor": vector.floor,
        "given": _keys(vector.given),
        **({"ttl": vector.ttl} if vector.ttl else {}),
        "steps": [_step(step) for step in vector.steps],
        "answers": [_answer(*each) for each in zip(vector.steps, vector.answers, strict=True)],
        "expected": _keys(vector.expected),
        "kills": list(vector.kills),
    }


def from_json(found: Mapping[str, Any], topic: str) -> Vector:
    return Vector(
        name=found["name"],
        topic=topic,
        clause=found["clause"],
        storages=tuple(found["storages"]),
        given={queue: _read_given(value) for queue, value in found["given"].items()},
        steps=tuple(
            Step(name, *queue[:1], *map(_read_id, queue[1:])) for name, *queue in found["steps"]
        ),
        answers=tuple(map(_read_answer, found["answers"])),
        expected={queue: _read_value(value) for queue, value in found["expected"].items()},
        ttl=found.get("ttl"),
        kills=tuple(found["kills"]),
    )


def _keys(keys: Mapping[str, Held]) -> dict[str, Any]:
    return {queue: _value(keys[queue]) for queue in QUEUES if queue in keys}


def _value(value: Held) -> dict[str, Any]:
    match value:
        case List(ids):
            runs = _runs(ids, [None] * len(ids))
            return {"type": "list", "ids": [id for _, id in runs]}
        case ZSet(entries) | Timed(entries):
            runs = _runs([id for _, id in entries], [score for score, _ in entries])
            return {"type": "zset", "entries": [[_score(score), id] for score, id in runs]}
        case _:
            return {"type": kind(value)}


def _read_value(found: Mapping[str, Any]) -> Held:
    match found["type"]:
        case "list":
            return List(tuple(id for each in found["ids"] for id in _read_ids(each)))
        case "zset":
            entries: list[tuple[Score | None, Id]] = []
            for text, each in found["entries"]:
                first = _read_score(text)
                entries += [
                    (None if first is None else first + place, id)
                    for place, id in enumerate(_read_ids(each))
                ]
            exact = tuple((score, id) for score, id in entries if score is not None)
            return ZSet(exact) if len(exact) == len(entries) else Timed(tuple(entries))
        case other:
            return Other(other)


def _read_given(found: Mapping[str, Any]) -> Value:
    value = _read_value(found)
    if isinstance(value, Timed):
        raise ValueError(f"given scores are exact: {found}")
    return value


def _runs(ids: Sequence[Id], scores: Scores) -> Iterator[tuple[Score | None, Any]]:
    """Each id as JSON with its score; where numbers follow one another, all of them as one.

    Their scores, if there are any, have to follow one another, too.
    """
    place = 0
    while place < len(ids):
        length = _run_length(ids, scores, place)
        if length >= _RUN:
            first = int(ids[place])
            yield scores[place], {"first": first, "last": first + length - 1}
            place += length
        else:
            yield scores[place], _id(ids[place])
            place += 1


def _run_length(ids: Sequence[Id], scores: Scores, place: int) -> int:
    score = scores[place]
    if not ids[place].isdigit() or ids[place] != b"%d" % int(ids[place]):
        return 0
    first, length = int(ids[place]), 1
    for id, other in zip(ids[place + 1 :], scores[place + 1 :], strict=True):
        follows = other is None if score is None else other == score + length
        if id != b"%d" % (first + length) or not follows:
            break
        length += 1
    return length


def _id(id: Id) -> Any:
    try:
        text = id.decode()
    except UnicodeDecodeError:
        return {"b64": b64encode(id).decode()}
    if len(text) >= _LONG and text == text[0] * len(text):
        return {"repeat": text[0], "times": len(text)}
    return text


def _read_ids(found: Any) -> list[Id]:
    match found:
        case {"first": int(first), "last": int(last)}:
            return [b"%d" % number for number in range(first, last + 1)]
        case _:
            return [_read_id(found)]


def _read_id(found: Any) -> Id:
    match found:
        case {"b64": str(text)}:
            return b64decode(text, validate=True)
        case {"repeat": str(text), "times": int(times)}:
            return text.encode() * times
        case str(text):
            return text.encode()
        case _:
            raise ValueError(f"no id: {found!r}")


def _score(score: Score | None) -> str:
    return CLOCK_SCORE if score is None else repr(score)


def _read_score(text: str) -> Score | None:
    if text == CLOCK_SCORE:
        return None
    return float(text) if "." in text else int(text)


def _step(step: Step) -> list[Any]:
    parts: list[Any] = [step.name]
    if step.queue is not None:
        parts.append(step.queue)
    if step.id is not None:
        parts.append(_id(step.id))
    return parts


def _answer(step: Step, answer: Answer) -> dict[str, Any]:
    if isinstance(answer, Refused):
        return {"error": answer.kind}
    match step.name:
        case "enqueue":
            return {"added": answer}
        case "dequeue":
            return {"id": _id(answer) if isinstance(answer, bytes) else None}
        case _:
            return {}


def _read_answer(found: Mapping[str, Any]) -> Answer:
    match found:
        case {"error": str(kind)}:
            return Refused(kind)
        case {"added": bool(added)}:
            return added
        case {"id": id} if id is not None:
            return _read_id(id)
        case _:
            return None

"""The files that vectors are shipped in: one for each topic, and the schema of them all."""

from collections.abc import Sequence
from importlib.resources import files

from uniqfifo_spec.vectors.as_json import read, text_of
from uniqfifo_spec.vectors.vector import Vector

TOPICS = ("list", "zset", "order", "scores", "ids", "keys", "migration")
SCHEMA = "vectors.schema.json"

_FOLDER = files("uniqfifo_spec").joinpath("data", "vectors")


def load(storage: str | None = None) -> list[Vector]:
    """The vectors that are shipped, of one storage or of all."""
    return [
        vector
        for topic in TOPICS
        for vector in read(_FOLDER.joinpath(f"{topic}.json").read_text("utf-8"), topic)
        if storage is None or storage in vector.storages
    ]


def render(vectors: Sequence[Vector]) -> dict[str, str]:
    """The text of each file by its name, the schema included."""
    texts = {
        f"{topic}.json": text_of([vector for vector in vectors if vector.topic == topic])
        for topic in TOPICS
    }
    return {**texts, SCHEMA: _FOLDER.joinpath(SCHEMA).read_text("utf-8")}

"""The shipped test vectors are the model's, cover its graph, and tell every wrong design apart.

Covers B38 (flux-framework/flux-core#6171): no number in them that a reader could round; B33
(hegeldev/hegel-core PR#25): no id in them can end a line.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from tests import wrong
from uniqfifo_spec.clauses import CLAUSES
from uniqfifo_spec.conformance.vectors_cli import vectors as command
from uniqfifo_spec.designs import STORAGES
from uniqfifo_spec.mutants import EQUIVALENT, MUTANTS, Mutants
from uniqfifo_spec.vectors import CLOCK, SCHEMA, TOPICS, Vector, load, mismatches, render
from uniqfifo_spec.vectors.as_json import as_json, from_json
from uniqfifo_spec.vectors.walks import Edge, edges, edges_of, in_scope

pytestmark = pytest.mark.once

SHIPPED = Path(__file__).parents[1] / "spec/uniqfifo_spec/data/vectors"
FILES = [f"{topic}.json" for topic in TOPICS]
VECTORS = load()
COUNTS = {
    "list": 24,
    "zset": 60,
    "order": 14,
    "scores": 14,
    "ids": 32,
    "keys": 16,
    "migration": 18,
}
EDGES = {"list": 176, "zset": 455, "zset-strict": 455}


def named(name: str) -> Vector:
    (vector,) = (vector for vector in VECTORS if vector.name == name)
    return vector


def test_what_is_shipped_is_what_the_model_generates(tmp_path: Path) -> None:
    done = CliRunner().invoke(command, [str(tmp_path / "new"), "--json"])
    assert (done.exit_code, done.stderr) == (0, "")
    written = {path.name: path.read_bytes() for path in (tmp_path / "new").iterdir()}
    assert written == {path.name: path.read_bytes() for path in SHIPPED.iterdir()}
    assert json.loads(done.stdout) == {
        "directory": str(tmp_path / "new"),
        "vectors": 178,
        "files": {f"{topic}.json": count for topic, count in COUNTS.items()},
        "mutants": 47,
        "killed": 47,
    }


def test_a_directory_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = CliRunner().invoke(command, [str(tmp_path / "file" / "below")])
    assert done.exit_code == 1
    assert f"cannot write to {tmp_path}/file/below" in done.stderr


def test_reading_takes_writing_back() -> None:
    written = {name: text for name, text in render(VECTORS).items() if name != SCHEMA}
    assert written == {name: (SHIPPED / name).read_text("ascii") for name in FILES}
    assert [from_json(as_json(vector), vector.topic) for vector in VECTORS] == VECTORS


@pytest.mark.parametrize("name", FILES)
def test_the_files_are_as_their_schema_says(name: str) -> None:
    schema = json.loads((SHIPPED / SCHEMA).read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    content = json.loads((SHIPPED / name).read_text())
    assert not list(jsonschema.Draft202012Validator(schema).iter_errors(content))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("given", {"workflow": {"type": "zset", "entries": [["clock", "a"]]}}),
        ("expected", {"workflow": {"type": "zset", "entries": [[1, "a"]]}}),
        ("expected", {"workflows": {"type": "list", "ids": ["a"]}}),
        ("steps", [["enqueue", "workflow", 7]]),
        ("steps", [["dequeue"]]),
        ("answers", [{"id": 7}]),
        ("answers", [{"error": "unheard of"}]),
        ("storages", []),
        ("floor", "1.0"),
        ("unknown", 1),
    ],
)
def test_the_schema_can_refuse(field: str, value: Any) -> None:
    schema = json.loads((SHIPPED / SCHEMA).read_text())
    validator = jsonschema.Draft202012Validator(schema)
    vector = as_json(named("nothing-list"))
    assert validator.is_valid({"version": 1, "vectors": [vector]})
    assert not validator.is_valid({"version": 1, "vectors": [{**vector, field: value}]})


@pytest.mark.parametrize("name", FILES)
def test_any_reader_of_json_can_read_them(name: str) -> None:
    """ "B33 B38"""
    numbers: list[int] = []

    def number(text: str) -> int:
        numbers.append(int(text))
        return numbers[-1]

    def refuse(text: str) -> None:
        raise AssertionError(f"{text} is not a whole number")

    data = (SHIPPED / name).read_bytes()
    assert data.isascii()
    assert not [byte for byte in data if byte < 32 and byte != 10]
    json.loads(data, parse_int=number, parse_float=refuse, parse_constant=refuse)
    assert max(numbers) <= 65_536  # a version, places in runs, repetitions, seconds to live


def test_every_vector_says_what_it_is_for() -> None:
    assert len({vector.name for vector in VECTORS}) == len(VECTORS)
    assert {vector.clause for vector in VECTORS} < {*CLAUSES}
    assert [vector.name for vector in VECTORS if not vector.kills] == []


def covered(vectors: list[Vector], storage: str) -> set[Edge]:
    """The edges of the small scope's graph that these walk along."""
    found: set[Edge] = set()
    for vector in vectors:
        if storage in vector.storages and vector.topic in ("list", "zset"):
            value = next(iter(vector.given.values()), None)
            steps = [step._replace(queue=step.queue and "workflow") for step in vector.steps]
            found |= {*edges_of(STORAGES[storage], value, steps)}
    return found


@pytest.mark.parametrize("storage", STORAGES)
def test_walks_cover_every_transition_of_the_small_scope(storage: str) -> None:
    everything = edges(STORAGES[storage])
    assert len(everything) == EDGES[storage]
    assert everything <= covered(VECTORS, storage)
    without = [vector for vector in VECTORS if vector.name != f"{storage}-walk-12"]
    assert not everything <= covered(without, storage)


def test_walks_stay_in_scope() -> None:
    values = [value for vector in VECTORS[: COUNTS["list"]] for value in vector.given.values()]
    assert all(map(in_scope, values))
    assert max(len(vector.steps) for vector in VECTORS[: COUNTS["list"] + COUNTS["zset"]]) == 20


@pytest.mark.parametrize("now", [CLOCK, 1_600_000_000_999_999, 2_200_000_000_123_456])
def test_the_designs_meet_their_vectors_whatever_the_clock_reads(now: int) -> None:
    assert [
        (vector.name, storage, problems)
        for vector in VECTORS
        for storage in vector.storages
        if (problems := mismatches(vector, STORAGES[storage], now))
    ] == []


def kills(mutants: Mutants) -> dict[str, int]:
    """How many vectors catch each of these, in any storage."""
    return {
        name: sum(
            any(design.name in vector.storages and mismatches(vector, design) for design in designs)
            for vector in VECTORS
        )
        for name, designs in mutants.items()
    }


def test_every_mutant_is_killed() -> None:
    named = {name for vector in VECTORS for name in vector.kills}
    assert named == {*MUTANTS}


@pytest.mark.parametrize("name", ["LREM -1", "ties in UTF-16 order", "highest not rounded down"])
def test_kills_are_what_running_the_mutant_shows(name: str) -> None:
    assert kills({name: MUTANTS[name]})[name] == sum(name in each.kills for each in VECTORS) > 0


def test_no_right_design_is_killed() -> None:
    assert kills(EQUIVALENT) == dict.fromkeys(EQUIVALENT, 0)


def test_the_mutants_are_the_wrong_implementations() -> None:
    # What a single key, one caller and one clock cannot show, and so no design can have.
    assert {*wrong.WRONG} - {*MUTANTS} == {
        "client clock",
        "local cache of seen ids",
        "migrate of one queue only",
        "time to live on the key",
    }
    assert {*wrong.EQUIVALENT} <= {*EQUIVALENT}


def test_an_answer_of_another_type_is_another_answer() -> None:
    vector = named("nothing-list")
    assert mismatches(vector, STORAGES["list"]) == []
    wrong_answers = replace(vector, answers=(False, False))
    assert len(mismatches(wrong_answers, STORAGES["list"])) == 2

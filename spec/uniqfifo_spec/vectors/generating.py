"""Makes vectors: the model says what is answered and held, and the mutants what each one is for."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import cycle

from uniqfifo_spec.designs import LIST, ZSET, ZSET_STRICT, Design
from uniqfifo_spec.keyspace import List, Value, ZSet
from uniqfifo_spec.mutants import MUTANTS
from uniqfifo_spec.vectors.cases import Case, cases
from uniqfifo_spec.vectors.files import TOPICS
from uniqfifo_spec.vectors.vector import CLOCK, QUEUES, Held, Timed, Vector, mismatches, play
from uniqfifo_spec.vectors.walks import FUTURE, Edge, edges_of, walks


def generate() -> list[Vector]:
    """Every vector, topic by topic. Takes seconds: what each one kills has to be tried."""
    # The queues take turns, so that each key is used.
    vectors = [*_walks(), *map(_vector, cases(), cycle(QUEUES))]
    vectors.sort(key=lambda vector: TOPICS.index(vector.topic))
    return [replace(vector, kills=tuple(_kills(vector))) for vector in vectors]


def _walks() -> Iterator[Vector]:
    """The graph of each storage, covered. What `zset-strict` shares is not done twice."""
    strict: set[Edge] = set()
    for design, covered in ((LIST, set[Edge]()), (ZSET, set[Edge]()), (ZSET_STRICT, strict)):
        found = sorted(walks(design, covered), key=lambda walk: len(walk[1]))
        topic = "list" if design is LIST else "zset"
        for number, ((given, steps), queue) in enumerate(
            zip(found, cycle(QUEUES), strict=False), 1
        ):
            free = tuple(step._replace(queue=None) for step in steps)
            name = f"{design.name}-walk-{number}"
            case = Case(topic, name, _clause(design, given), design, given, free)
            vector = _vector(case, queue)
            yield vector
            if design is ZSET and ZSET_STRICT.name in vector.storages:
                strict |= {*edges_of(ZSET_STRICT, given, steps)}


def _clause(design: Design, given: Value) -> str:
    match given:
        case List(ids) if design is not LIST:
            return "MIG-1"
        case List(ids) if len(set(ids)) < len(ids):
            return "QUE-1"
    return {"list": "LST-3", "zset": "ZST-3", "zset-strict": "STR-2"}[design.name]


def _vector(case: Case, queue: str) -> Vector:
    """Ask the model what this case leads to, and who else is of the same opinion."""
    given = case.given if isinstance(case.given, Mapping) else {queue: case.given}
    given = {name: value for name, value in given.items() if value is not None}
    steps = tuple(
        step if step.name == "start" or step.queue else step._replace(queue=queue)
        for step in case.steps
    )
    answers, keys = play(given, steps, case.design)
    expected = {name: _held(value) for name, value in keys.items() if value is not None}
    vector = Vector(
        name=case.name,
        topic=case.topic,
        clause=case.clause,
        storages=(case.design.name,),
        given=given,
        steps=steps,
        answers=answers,
        expected=expected,
        ttl=case.ttl,
    )
    # The floor differs from `list` to the others, so those two kinds share no vector.
    family = (LIST,) if case.design is LIST else (ZSET, ZSET_STRICT)
    agree = tuple(design.name for design in family if not mismatches(vector, design))
    return replace(vector, storages=agree)


def _held(value: Value) -> Held:
    """The value, without the scores that came from the clock."""
    if not isinstance(value, ZSet):
        return value
    entries = tuple((None if CLOCK <= score < FUTURE else score, id) for score, id in value.entries)
    return Timed(entries) if any(score is None for score, _ in entries) else value


def _kills(vector: Vector) -> Iterator[str]:
    for name, designs in MUTANTS.items():
        if any(design.name in vector.storages and mismatches(vector, design) for design in designs):
            yield name

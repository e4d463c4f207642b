"""Language-neutral test vectors, generated from the model: a port checks itself without Python.

`generate()` computes them, `load()` reads those that are shipped, in `data/vectors`; a test sees to
it that they are the same. PORTING.md explains the files.
"""

from uniqfifo_spec.vectors.files import SCHEMA, TOPICS, load, render
from uniqfifo_spec.vectors.generating import generate
from uniqfifo_spec.vectors.vector import (
    CLOCK,
    QUEUES,
    Refused,
    Step,
    Timed,
    Vector,
    key_problems,
    mismatches,
)

__all__ = [
    "CLOCK",
    "QUEUES",
    "SCHEMA",
    "TOPICS",
    "Refused",
    "Step",
    "Timed",
    "Vector",
    "generate",
    "key_problems",
    "load",
    "mismatches",
    "render",
]

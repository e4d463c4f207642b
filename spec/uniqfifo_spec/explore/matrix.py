"""Which designs may share a key: every pair of designs, under every assumption that matters."""

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations_with_replacement

from uniqfifo_spec.explore import PROPERTIES, Configuration, explore
from uniqfifo_spec.rejected import DESIGNS

WEAKER: dict[str, Callable[[Configuration], Configuration]] = {
    "ties": lambda strict: replace(strict, clock="nondecreasing"),
    "back": lambda strict: replace(strict, clock="any"),
    "fault": lambda strict: replace(strict, lost=1, crashes=1),
}
"""What may go wrong besides interleaving: the clock repeats a reading; it goes back; or, under a
strict clock, a reply is lost and a client crashes."""

ALWAYS = "always"
"""Nothing needs to go wrong: interleaving alone breaks the property."""


@dataclass(frozen=True, slots=True)
class Row:
    """One client of each of two designs."""

    designs: tuple[str, str]
    broken: dict[str, dict[str, int]]
    """Property, then what it takes to break it, then in how many steps. What breaks always is not
    tried under weaker assumptions: it breaks there, too."""
    undetermined: tuple[str, ...]
    states: int
    """Over all assumptions."""


def pairs() -> list[tuple[str, str]]:
    return [*combinations_with_replacement(DESIGNS, 2)]


def row(names: tuple[str, str], operations: int = 3) -> Row:
    """Explore one pair under the strict clock without faults, then under each weaker assumption."""
    strict = Configuration(tuple(DESIGNS[name] for name in names), operations)
    report = explore(strict)
    broken = {name: {ALWAYS: steps} for name, steps in report.steps().items()}
    undetermined = {*report.outcomes("UNDETERMINED")}
    states = report.states
    rest = [name for name in PROPERTIES if name not in broken]
    for what, weaken in WEAKER.items():
        if what == "fault" or any(name.startswith("zset") for name in names):
            report = explore(weaken(strict), rest)
            for name, steps in report.steps().items():
                broken.setdefault(name, {})[what] = steps
            undetermined |= {*report.outcomes("UNDETERMINED")}
            states += report.states
    ordered = {name: broken[name] for name in PROPERTIES if name in broken}
    return Row(names, ordered, tuple(name for name in PROPERTIES if name in undetermined), states)


def matrix(
    operations: int = 3, *, workers: int = 2, progress: Callable[[Row], None] | None = None
) -> list[Row]:
    """A row for every pair, in a fixed order, whoever computed it."""
    rows: list[Row] = []
    with ProcessPoolExecutor(workers) as pool:
        for found in pool.map(partial(row, operations=operations), pairs()):
            rows.append(found)
            if progress:
                progress(found)
    return rows

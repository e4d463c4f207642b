"""Every interleaving of clients of the designs, breadth first, and what the properties say to each.

    explore(Configuration((LEGACY, LIST))).verdicts["nothing-lost"].outcome == "REFUTED"

A verdict is PROVED within the bounds of its configuration, REFUTED with the shortest run that shows
it, or UNDETERMINED: a limit was hit, or nothing put the property to the test.
"""

from collections.abc import Iterable
from dataclasses import replace

from uniqfifo_spec.explore.configuration import (
    DEQUEUE,
    START,
    Configuration,
    Operation,
    enqueue,
    free,
)
from uniqfifo_spec.explore.model import Model
from uniqfifo_spec.explore.monitors import NeverWedged
from uniqfifo_spec.explore.properties import PROPERTIES
from uniqfifo_spec.explore.report import Outcome, Report, Verdict
from uniqfifo_spec.explore.search import Progress, Search
from uniqfifo_spec.explore.trace import Row, Trace, newcomer, rows_of

__all__ = [
    "DEQUEUE",
    "PROPERTIES",
    "START",
    "Configuration",
    "Operation",
    "Outcome",
    "Report",
    "Row",
    "Trace",
    "Verdict",
    "enqueue",
    "explore",
    "free",
]


def explore(
    configuration: Configuration,
    properties: Iterable[str] = tuple(PROPERTIES),
    *,
    limit: int = 2_000_000,
    symmetry: bool = True,
    progress: Progress | None = None,
) -> Report:
    """Decide `properties` in one search.

    Args:
        configuration: Who calls what, from which keys, under which clock, with which faults.
        properties: Names out of `PROPERTIES`. None at all merely counts the states.
        limit: The number of states after which to give up.
        symmetry: Whether to tell clients that are alike apart no more than needed.
        progress: Called now and then with the number of states so far.

    The search ends early once every property is refuted.
    """
    for merge in (True, False):
        monitors = {name: PROPERTIES[name](configuration) for name in properties}
        model = Model(configuration, monitors, merge=merge)
        search = Search(model, symmetry=symmetry)
        search.run(limit, tuple(monitors), progress)
        if model.sound():
            break
    verdicts = {name: _verdict(name, search, model, limit) for name in monitors}
    return Report(configuration, verdicts, search.states, search.transitions, search.complete)


def _verdict(name: str, search: Search, model: Model, limit: int) -> Verdict:
    bound = str(model.configuration)
    if name in search.finds:
        return Verdict(name, "REFUTED", bound, _trace(name, search, model))
    if not search.complete:
        return Verdict(name, "UNDETERMINED", f"the limit of {limit} states was hit: {bound}")
    if name not in model.exercised:
        return Verdict(name, "UNDETERMINED", f"nothing put it to the test: {bound}")
    return Verdict(name, "PROVED", bound)


def _trace(name: str, search: Search, model: Model) -> Trace:
    configuration = model.configuration
    moves = [*search.path(search.finds[name])]
    first = search.first()
    last = moves[-1].shared if moves else first
    aftermath: tuple[Row, ...] = ()
    if isinstance(monitor := model.monitors[name], NeverWedged):
        memory = dict(zip(model.monitors, last.memory, strict=True))[name]
        if stuck := monitor.stuck(memory, last.keys):
            design, id = stuck
            aftermath = tuple(
                replace(row, client=len(configuration.clients))
                for row in rows_of(newcomer(design, id, last.keys), (design,))
            )
    rows = tuple(rows_of(moves, configuration.clients))
    return Trace(name, configuration, first.keys, rows, aftermath)

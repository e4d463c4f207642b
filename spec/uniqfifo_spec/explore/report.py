"""What an exploration found out."""

from dataclasses import dataclass
from typing import Literal

from uniqfifo_spec.explore.configuration import Configuration
from uniqfifo_spec.explore.trace import Trace

Outcome = Literal["PROVED", "REFUTED", "UNDETERMINED"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one property."""

    property: str
    outcome: Outcome
    reason: str
    """The bound within which it is proved, or why it is not decided."""
    trace: Trace | None = None


@dataclass(frozen=True, slots=True)
class Report:
    configuration: Configuration
    verdicts: dict[str, Verdict]
    states: int
    transitions: int
    complete: bool
    """Whether every reachable state was seen."""

    def outcomes(self, outcome: Outcome) -> tuple[str, ...]:
        """The properties with this verdict, in order."""
        return tuple(name for name, verdict in self.verdicts.items() if verdict.outcome == outcome)

    def steps(self) -> dict[str, int]:
        """How many steps the shortest counterexample of each refuted property takes."""
        traces = {name: verdict.trace for name, verdict in self.verdicts.items()}
        return {name: len(trace.rows) for name, trace in traces.items() if trace}

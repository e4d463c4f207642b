"""What a check found, clause by clause."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from uniqfifo_spec.clauses import CLAUSES
from uniqfifo_spec.conformance.oracle import Judged


@dataclass
class Tally:
    """How often a clause was judged, and how often it did not hold."""

    cases: int = 0
    failures: int = 0
    undecided: int = 0
    problem: str = ""
    reproducer: str = ""


@dataclass
class Report:
    """The clauses that a check judged for one storage, in the order of SPEC.md."""

    storage: str
    transitions: int = 0
    steps: int = 0
    tallies: dict[str, Tally] = field(default_factory=dict)

    def add(self, judged: Iterable[Judged]) -> list[Judged]:
        """Count these, and return the ones whose clause failed for the first time."""
        new = []
        for each in judged:
            tally = self.tallies.setdefault(each.clause, Tally())
            tally.cases += 1
            tally.undecided += each.undecided
            if each.problem:
                tally.failures += 1
                if not tally.problem:
                    tally.problem = each.problem
                    new.append(each)
        return new

    def reproduce(self, failed: Judged, program: str) -> None:
        """Note the failure of a clause that is shown, and how it can be seen again."""
        self.tallies[failed.clause].problem = failed.problem
        self.tallies[failed.clause].reproducer = program

    @property
    def conforms(self) -> bool:
        """No clause failed. (That none was left undecided is another question.)"""
        return not any(tally.failures for tally in self.tallies.values())

    @property
    def verdict(self) -> str:
        """`conforms`, `does not conform` or `undecided`."""
        if not self.conforms:
            return "does not conform"
        undecided = any(tally.undecided for tally in self.tallies.values())
        return "undecided" if undecided else "conforms"

    def rows(self) -> list[tuple[str, str, Tally]]:
        """(number, heading, tally) of each clause that was judged."""
        return [
            (number, title, self.tallies[number])
            for number, title in CLAUSES.items()
            if number in self.tallies
        ]

    def as_json(self) -> dict[str, Any]:
        return {
            "storage": self.storage,
            "verdict": self.verdict,
            "transitions": self.transitions,
            "steps": self.steps,
            "clauses": [
                {
                    "clause": number,
                    "title": title,
                    "cases": tally.cases,
                    "failures": tally.failures,
                    "undecided": tally.undecided,
                    **({"problem": tally.problem} if tally.problem else {}),
                    **({"reproducer": tally.reproducer} if tally.reproducer else {}),
                }
                for number, title, tally in self.rows()
            ],
        }

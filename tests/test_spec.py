"""SPEC.md, the list of clauses and the checks speak of the same clauses."""

import re
from pathlib import Path

from uniqfifo_spec.clauses import CLAUSES

SPEC = (Path(__file__).parent.parent / "spec" / "SPEC.md").read_text("utf-8")


def clauses_of(text: str) -> dict[str, str]:
    found = re.findall(r"^\*\*([A-Z]{3}-\d) ([^*]+?)\.?\*\*", text, re.MULTILINE)
    assert len(found) == len(dict(found)), "a clause stands twice"
    return dict(found)


def test_every_clause_has_its_heading_from_the_specification() -> None:
    assert clauses_of(SPEC) == CLAUSES


def test_a_clause_that_is_missing_shows() -> None:
    assert clauses_of(SPEC.replace("**ENQ-2 ", "ENQ-2 ")) != CLAUSES

"""A list of failures that are known, and so fail a check no more; until they pass, when it fails.

One a line: storage, clause, and the reason. Empty lines and lines that begin with # do not count.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

from uniqfifo_spec.clauses import CLAUSES
from uniqfifo_spec.designs import STORAGES

Case = tuple[str, str]
"""(storage, clause)"""


@dataclass(frozen=True)
class ExpectedFailures:
    """The known failures, each with its reason."""

    reasons: dict[Case, str] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "ExpectedFailures":
        """Read the list. Raises ValueError that names the line which is none."""
        reasons: dict[Case, str] = {}
        for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
            if not line.strip() or line.startswith("#"):
                continue
            storage, clause, reason = (*line.split(maxsplit=2), "", "", "")[:3]
            if storage not in STORAGES or clause not in CLAUSES or not reason:
                wanted = "expected a storage, a clause and a reason, such as 'zset ENQ-2 known bug'"
                raise ValueError(f"{path}:{number}: {wanted}: {line!r}")
            reasons[storage, clause] = reason
        return cls(reasons)

    def unexpected(self, failed: Collection[Case]) -> list[Case]:
        """What failed and is not listed."""
        return sorted(set(failed) - set(self.reasons))

    def passing(self, failed: Collection[Case], judged: Collection[Case]) -> list[Case]:
        """What is listed, was judged, and did not fail."""
        return sorted((set(self.reasons) & set(judged)) - set(failed))

    def write(self, path: Path, failed: Collection[Case], judged: Collection[Case]) -> None:
        """Rewrite the list to what failed, reasons kept; what was not judged stays."""
        kept = set(self.reasons) - set(judged)
        lines = [
            f"{storage} {clause} {self.reasons.get((storage, clause), 'not yet explained')}\n"
            for storage, clause in sorted(kept | set(failed))
        ]
        path.write_text("".join(lines), "utf-8")

"""What a fault is: what is done, and what may come of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.robustness.clients import KINDS
from tests.robustness.stage import Stage, single
from tests.robustness.verdict import Kind
from uniqfifo import Reason

SERVERS = ("redis-5.0", "redis-6.2", "redis-7.0", "redis-8.2", "valkey-9.1")
"""On which a fault is tried, unless it needs others."""


@dataclass(frozen=True, eq=False)
class Fault:
    """What is done to a server or its clients in the middle of a run, and what may come of it.

    - `strike`: does it, and undoes it
    - `setting`: puts up the servers; `args` are theirs
    - `refused`: the reasons for which calls may then be not executed
    - `unknown`: whether their outcome may be unknown
    - `seen`: whether some call has to fail, since else nothing was put to the test
    - `rolls_back`: whether the server may go back to an earlier value
    - `reorders`: the queues whose order depends on what is broken, and has to break
    - `served`: whether every host must be served again afterwards
    - `kinds`: of clients; `plan`: what else the workers do; `late`: more of them, which begin when
      it strikes
    - `options`: of the clients
    """

    name: str
    about: str
    strike: Callable[[Stage], None]
    servers: tuple[str, ...] = SERVERS
    setting: Callable[[Stage], None] = single
    args: tuple[str, ...] = ()
    refused: frozenset[Reason] = frozenset()
    unknown: bool = False
    seen: bool = True
    rolls_back: bool = False
    reorders: frozenset[str] = frozenset()
    served: bool = True
    kinds: tuple[str, ...] = KINDS
    plan: Mapping[str, Any] = field(default_factory=dict)
    late: tuple[Mapping[str, Any], ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def expected(self) -> str:
        """What may come of it, in words."""
        failures = [f"not executed ({', '.join(sorted(self.refused))})"] if self.refused else []
        failures += ["outcome unknown"] if self.unknown else []
        kept = "one rollback at most" if self.rolls_back else "nothing lost, nothing twice"
        order = f"order lost: {', '.join(sorted(self.reorders))}" if self.reorders else ""
        return "; ".join(filter(None, (" or ".join(failures) or "unseen", kept, order)))

    def verdicts(self, queue: str) -> set[Kind]:
        """What may be said of the calls on a queue."""
        allowed = {Kind.REORDERED} if queue in self.reorders else {Kind.EXPLAINED}
        return allowed | ({Kind.ROLLED_BACK} if self.rolls_back else set())


Strike = Callable[[Stage], None]


def fault(
    name: str, *, refused: Iterable[Reason] = (), reorders: Iterable[str] = (), **rest: Any
) -> Callable[[Strike], Fault]:
    """Make a fault of a strike, whose docstring tells what it is about."""

    def made(strike: Strike) -> Fault:
        about = (strike.__doc__ or "").strip()
        reasons = {*refused}
        if rest.get("rolls_back"):
            reasons.add(Reason.WRONG_TYPE)  # if it goes back to before the migration
        sets = {"refused": frozenset(reasons), "reorders": frozenset(reorders)}
        return Fault(name, about, strike, **sets, **rest)

    return made

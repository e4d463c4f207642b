"""Two minutes of hard work, and one fault after the other.

    python -m tests.robustness.soak --server redis-7.0 --seconds 120 --seed 1

Eight clients of all kinds work on three queues nearly as fast as they can, in rounds of ten seconds
with a fault in each. Between two rounds every call is judged, and the memory and the connections of
the clients and of the server are read.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import click

from tests import servers
from tests.robustness.clients import KINDS
from tests.robustness.faults import FAULTS
from tests.robustness.log import ANSWERED, UNTYPED, Entry
from tests.robustness.of_servers import ALWAYS
from tests.robustness.queues import FIRST, QUEUES
from tests.robustness.run import OPTIONS, SERVED_WITHIN, history_of
from tests.robustness.stage import Stage, single, staged
from tests.robustness.traffic import Traffic
from tests.robustness.verdict import Kind, kinds
from tests.robustness.worker import Plan
from uniqfifo_spec.fifo import Pending

CLIENTS, ROUND = 8, 10.0
PAUSE = (
    0.001  # seconds; if every client always waits for an answer, some rounds are too hard to judge
)
GROWTH = 1.2  # of memory, from the first round to the last
STRIKES = (
    *("script-flush", "connections-killed", "stopped", "killed-aof-always", "readonly"),
    *("out-of-memory", "busy", "no-replicas", "wrong-password", "too-many-clients", "none"),
)
"""Faults after which the server has everything: what is lost is lost by the queue."""


@dataclass(frozen=True)
class Round:
    """What was seen in and after one round. Memory in bytes, of all clients and of the server."""

    strike: str
    outcomes: Counter[str]
    verdicts: set[Kind]
    unserved: set[str]
    untyped: list[str]
    client_memory: int
    server_memory: int
    connections: int

    @property
    def calls(self) -> int:
        return self.outcomes.total()

    @property
    def is_right(self) -> bool:
        return self.verdicts == {Kind.EXPLAINED} and not (self.unserved or self.untyped)


def soak(server: str, seconds: float, seed: int) -> list[Round]:
    """Rounds for so long in all, each told on standard output as it ends."""
    random = Random(seed)
    with staged(server, ALWAYS) as stage:
        single(stage)
        stage.fill()
        target = {**stage.target, "options": OPTIONS}
        plans = [
            Plan(
                f"{number}", KINDS[number % len(KINDS)], target, QUEUES, seed, ids=1000, pause=PAUSE
            )
            for number in range(CLIENTS)
        ]
        stage.traffic = stage.stack.enter_context(Traffic(plans, stage.folder))
        stage.traffic.await_ready()
        pending = {queue: tuple(id.encode() for id in FIRST) for queue in QUEUES}
        rounds = []
        for number in range(round(seconds / ROUND)):
            rounds.append(_round(stage, number, random.choice(STRIKES), pending))
            click.echo(_told(rounds[-1]))
        return rounds


def _round(stage: Stage, number: int, strike: str, pending: dict[str, Pending]) -> Round:
    traffic = stage.traffic
    until = time.monotonic() + ROUND
    traffic.go(f"{number}")
    time.sleep(ROUND / 3)
    FAULTS[strike].strike(stage)
    over = time.monotonic_ns()
    time.sleep(max(0, until - time.monotonic()))
    unserved = traffic.await_served(over, SERVED_WITHIN)
    memory = traffic.pause()
    entries = traffic.entries()
    traffic.forget()
    verdicts: set[Kind] = set()
    for queue in QUEUES:
        before, pending[queue] = pending[queue], stage.pending(queue)
        verdicts |= kinds(history_of(queue, entries, before, pending[queue]))
    with stage.admin() as admin:
        server_memory, connections = admin.info("memory")["used_memory"], len(admin.client_list())
    return Round(
        strike,
        Counter(entry.outcome for entry in entries),
        verdicts,
        unserved,
        _untyped(entries),
        sum(memory),
        server_memory,
        connections - 1,
    )


def _untyped(entries: Sequence[Entry]) -> list[str]:
    return [entry.why.strip().splitlines()[-1] for entry in entries if entry.outcome == UNTYPED]


def _told(seen: Round) -> str:
    outcomes = ", ".join(f"{name} {count:,}" for name, count in sorted(seen.outcomes.items()))
    return (
        f"{seen.strike:20}{outcomes}; {', '.join(sorted(seen.verdicts))}\n"
        f"{'':20}clients {seen.client_memory / 1e6:.1f} MB, server "
        f"{seen.server_memory / 1e6:.1f} MB, {seen.connections} connections"
        + "".join(f"\n{'':20}! not served: {host}" for host in sorted(seen.unserved))
        + "".join(f"\n{'':20}! {line}" for line in seen.untyped[:3])
    )


def leaks(rounds: Sequence[Round]) -> list[str]:
    """What grew that must not."""
    found = []
    if rounds[-1].client_memory > GROWTH * rounds[0].client_memory:
        found.append("the clients' memory grows")
    if rounds[-1].server_memory > GROWTH * rounds[0].server_memory:
        found.append("the server's memory grows")
    if max(each.connections for each in rounds) > CLIENTS * len(QUEUES):
        found.append("there are more connections than calls can use at once")
    return found


@click.command()
@click.option("--server", default="redis-7.0", type=click.Choice(list(servers.SOURCES)))
@click.option("--seconds", default=120.0, type=click.FloatRange(min=ROUND), show_default=True)
@click.option("--seed", default=1, show_default=True)
def main(server: str, seconds: float, seed: int) -> None:
    """Let eight clients work hard while faults strike, and judge every call.

    Exits 0 if all is explained and nothing grew, 1 if not, 3 if some round was too hard to judge.
    """
    rounds = soak(server, seconds, seed)
    calls = sum(each.calls for each in rounds)
    answered = sum(each.outcomes[ANSWERED] for each in rounds)
    click.echo(
        f"{calls:,} calls in {len(rounds) * ROUND:.0f} s, {answered:,} answered; "
        f"client memory {rounds[0].client_memory / 1e6:.1f} -> "
        f"{rounds[-1].client_memory / 1e6:.1f} MB, connections "
        f"{min(each.connections for each in rounds)} to {max(each.connections for each in rounds)}"
    )
    grown = leaks(rounds)
    for problem in grown:
        click.echo(f"! {problem}")
    wrong = [each for each in rounds if not each.is_right]
    undecided = [each for each in wrong if Kind.UNDECIDED in each.verdicts]
    sys.exit(0 if not wrong and not grown else 3 if wrong == undecided and not grown else 1)


if __name__ == "__main__":
    main()

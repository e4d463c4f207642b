"""The steps to a failure, as few as were found, as a Python program to run."""

from collections.abc import Sequence

from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.oracle import Judged
from uniqfifo_spec.conformance.session import Call, Implementation, Put, Session, SetClock, Step
from uniqfifo_spec.conformance.targets import QUEUES

_TRIES = 40  # how many shorter sequences are tried where each costs a process
_EARLIER = 400  # how many earlier calls are tried as the one that a failure depends on


def fails(bench: Bench, implementation: Implementation, steps: Sequence[Step], clause: str) -> bool:
    """Does this clause fail if these steps are taken on a fresh prefix?"""
    with Session(bench, implementation) as session:
        return any(
            judged.problem and judged.clause == clause
            for step in steps
            for judged in session.do(step)
        )


def shortest(
    bench: Bench, implementation: Implementation, steps: Sequence[Step], clause: str, last: int
) -> Sequence[Step]:
    """The fewest steps that make this clause fail, of those that did.

    The `last` of them, after the clock was set and a host started, are enough unless the
    implementation keeps a state of its own; then one earlier call is looked for, and if that is
    not enough either all steps stay.
    """
    tail = list(steps[-last:])
    starts = (at for at, step in enumerate(steps) if isinstance(step, Call) and _starts(step))
    first = next(starts) + 1
    start = [step for step in steps[:first] if not isinstance(step, Call) or _starts(step)]
    if fails(bench, implementation, [*start, *tail], clause):
        return [*start, *tail]
    earlier = [step for step in steps[first:-last] if isinstance(step, Call)]
    tries = _TRIES if implementation.is_a_process else _EARLIER
    for call in reversed(earlier[-tries:]):
        if fails(bench, implementation, [*start, call, *tail], clause):
            return [*start, call, *tail]
    return steps


def _starts(call: Call) -> bool:
    return call.operation.name == "start"


def fewer(
    bench: Bench, implementation: Implementation, steps: list[Step], clause: str
) -> list[Step]:
    """Leave out what can be left out, in ever smaller pieces, as long as a few tries last."""
    tries, size = _TRIES, len(steps) // 2
    while size and tries:
        for start in range(0, len(steps), size):
            rest = [*steps[:start], *steps[start + size :]]
            tries -= 1
            if fails(bench, implementation, rest, clause):
                steps = rest
                break
            if not tries:
                break
        else:
            size //= 2
    return steps


def program(
    bench: Bench, implementation: Implementation, steps: Sequence[Step], failed: Judged
) -> str:
    """These steps as Python, which prints what each call answers and what the keys hold then."""
    body: list[str] = []
    hosts: dict[str, str] = {}
    for step in steps:
        match step:
            case Put(queue, value, ttl):
                more = f", ttl={ttl}" if ttl else ""
                body.append(f"bench.put({_key(queue)}, {value!r}{more})")
            case SetClock(now):
                body.append(f"bench.clock({now})")
            case Call(storage, operation):
                if storage not in hosts:
                    hosts[storage] = f"{storage}_host".replace("-", "_")
                    body.append(f"storage = {storage!r}")
                    body.append(f"{hosts[storage]} = {implementation.source}")
                arguments = [argument for argument in (operation.queue, operation.id) if argument]
                text = ", ".join(map(repr, arguments))
                body.append(f"print({hosts[storage]}.{operation.name}({text}))")
    body += [f"print(bench.seen({', '.join(map(_key, QUEUES))}))"]
    return "\n".join(
        [
            f"# {failed.clause}: {failed.problem}",
            "import redis, uniqfifo",
            "from uniqfifo_spec.conformance.bench import at_url, embedded, spawned",
            "from uniqfifo_spec.conformance.stdio import StdioTarget",
            "from uniqfifo_spec.conformance.targets import ProviderTarget",
            "from uniqfifo_spec.keyspace import List, Other, ZSet",
            "",
            f"with {bench.source} as bench, bench.prefix() as prefix:",
            *(f"    {line}" for line in body),
        ]
    )


def _key(queue: str) -> str:
    ending = queue if queue == "index" else f"{queue}s"
    return 'f"{prefix}-' + ending + '"'

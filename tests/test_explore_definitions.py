"""The monitors judge step by step and forget; here the definitions are applied to whole runs.

Every property is written down a second time, straight from its definition, without regard to speed.
Both must find the same property broken at the same step of the same run.
"""

import random
from collections import Counter
from collections.abc import Callable
from itertools import combinations, permutations

import pytest

from uniqfifo_spec.commands import RPush, SAdd, Type
from uniqfifo_spec.designs import LIST, ZSET, Atomic, Design, Program, list_start, zset_enqueue
from uniqfifo_spec.explore import PROPERTIES, Configuration, Operation, free
from uniqfifo_spec.explore.events import End, Step, leaving
from uniqfifo_spec.explore.linearizable import Outcomes, to_bag, to_fifo
from uniqfifo_spec.explore.model import Local, Model, Move
from uniqfifo_spec.explore.search import Search
from uniqfifo_spec.fifo import Id, Pending
from uniqfifo_spec.keyspace import List
from uniqfifo_spec.rejected import LEGACY, SET_AND_LIST, set_and_list_dequeue

pytestmark = pytest.mark.once

Effects = Callable[[Operation, Pending], Outcomes]
Run = list[Move]


class Call:
    """One call of a run: where it begins and ends, and what it did meanwhile."""

    def __init__(self, begin: int, step: Step) -> None:
        self.client = step.client
        self.operation = step.operation
        self.begin = begin
        self.end: int | None = None
        self.how = End.RUNNING
        self.answer: object = None
        self.took: list[tuple[int, Id]] = []
        self.pushed: int | None = None
        self.changed = False

    @property
    def id(self) -> Id | None:
        return self.operation.arguments[0] if self.operation.arguments else None

    @property
    def answered(self) -> bool:
        return self.how is End.ANSWERED

    @property
    def added(self) -> bool:
        return self.answered and self.answer is True


def calls_of(run: Run) -> list[Call]:
    calls: list[Call] = []
    under_way: dict[int, Call] = {}
    for number, move in enumerate(run):
        step = move.step
        if step.begins:
            under_way[step.client] = Call(number, step)
            calls.append(under_way[step.client])
        call = under_way[step.client]
        before, after = Counter(leaving(step.before)), Counter(leaving(step.after))
        call.changed |= step.before != step.after
        if call.operation.verb == "dequeue":
            call.took += [(number, id) for id in before - after]
        if call.operation.verb == "enqueue" and (after - before)[call.id]:
            call.pushed = number
        call.how, call.answer = step.end, step.answer
        if step.end is not End.RUNNING:
            call.end = number
    return calls


def quiescent(calls: list[Call]) -> bool:
    return all(call.end is not None for call in calls)


def linearizable(run: Run, calls: list[Call], to: Effects = to_fifo) -> bool:
    """Try every order of every choice."""
    answered = [call for call in calls if call.answered]
    open_calls = [call for call in calls if call.how in (End.RUNNING, End.UNANSWERED)]
    queue = leaving(run[0].step.before)
    return any(
        _explains(queue, order, to)
        for number in range(len(open_calls) + 1)
        for chosen in combinations(open_calls, number)
        for order in permutations([*answered, *chosen])
        if _in_real_time(order)
    )


def _in_real_time(order: tuple[Call, ...]) -> bool:
    """A call without answer may take effect at any time."""
    return not any(
        later.answered and later.end is not None and later.end < earlier.begin
        for place, earlier in enumerate(order)
        for later in order[place + 1 :]
    )


def _explains(queue: Pending, order: tuple[Call, ...], to: Effects) -> bool:
    if not order:
        return True
    call = order[0]
    return any(
        _explains(after, order[1:], to)
        for answer, after in to(call.operation, queue)
        if answer == call.answer or not call.answered
    )


def linearizable_to_bag(run: Run, calls: list[Call]) -> bool:
    return linearizable(run, calls, to_bag)


def unique(run: Run, calls: list[Call]) -> bool:
    copies = Counter(leaving(run[0].step.before))
    queue = leaving(run[-1].shared.keys)
    return not quiescent(calls) or all(queue.count(x) <= max(1, copies[x]) for x in queue)


def nothing_lost(run: Run, calls: list[Call]) -> bool:
    queue = leaving(run[-1].shared.keys)
    return not quiescent(calls) or all(
        call.id in queue
        or any(
            other.end is not None and other.end > call.begin
            for other in calls
            if call.id in [id for _, id in other.took]
        )
        for call in calls
        if call.operation.verb == "enqueue" and call.answered
    )


def in_order(run: Run, calls: list[Call]) -> bool:
    keys = [run[0].step.before, *(move.step.after for move in run)]
    if any(len({*leaving(held)}) < len(leaving(held)) for held in keys):
        return True
    takings = [(at, id) for call in calls for at, id in call.took]
    enqueues = [call for call in calls if call.operation.verb == "enqueue" and call.answered]
    for y in enqueues:
        if not y.added or y.pushed is None:
            continue
        taken = min((at for at, id in takings if id == y.id and at > y.pushed), default=None)
        for x in enqueues:
            if taken is None or x.end is None or x.end >= y.begin or x.id == y.id:
                continue
            since = x.begin if x.pushed is None else x.pushed
            if not any(id == x.id and since <= at <= taken for at, id in takings):
                return False
    return True


def delivered_once(run: Run, calls: list[Call]) -> bool:
    copies = Counter(leaving(run[0].step.before))
    for call in calls:
        if call.operation.verb == "enqueue" and (call.added or call.how is End.UNANSWERED):
            copies[call.id] += 1
    copies.subtract(id for call in calls for _, id in call.took)
    return not quiescent(calls) or min(copies.values(), default=0) >= 0


def quiet(run: Run, calls: list[Call]) -> bool:
    return not any(
        call.operation.verb == "enqueue" and call.answered and not call.added and call.changed
        for call in calls
    )


DEFINITIONS = {
    "linearizable": linearizable,
    "linearizable-to-bag": linearizable_to_bag,
    "unique": unique,
    "nothing-lost": nothing_lost,
    "fifo": in_order,
    "delivered-once": delivered_once,
    "quiet": quiet,
}


def first_broken_by_definition(run: Run) -> dict[str, int]:
    found: dict[str, int] = {}
    for length in range(1, len(run) + 1):
        calls = calls_of(run[:length])
        for name, holds in DEFINITIONS.items():
            if name not in found and not holds(run[:length], calls):
                found[name] = length
    return found


def first_broken_by_monitor(run: Run) -> dict[str, int]:
    found: dict[str, int] = {}
    for length, move in enumerate(run, start=1):
        for name in move.broken:
            found.setdefault(name, length)
    return found


def random_run(model: Model, choose: random.Random) -> Run:
    shared, _ = model.initial()
    locals_ = [Local(0)] * len(model.configuration.clients)
    run: Run = []
    while True:
        moves = [
            move
            for client, local in enumerate(locals_)
            for move in model.moves(client, shared, local)
        ]
        if not moves:
            return run
        run.append(choose.choice(moves))
        shared = run[-1].shared
        locals_[run[-1].step.client] = run[-1].local


def late_set_enqueue(id: Id) -> Program:
    """Appends before it looks."""
    yield RPush(id)
    return bool((yield SAdd(id)))


def confirmed_enqueue(id: Id) -> Program:
    """`zset`, but there is time to be taken, and to overtake, between the effect and the answer."""
    added: bool = yield Atomic(zset_enqueue, (id,))
    yield Type()
    return added


LATE_SET = Design("late-set", late_set_enqueue, set_and_list_dequeue, list_start)
CONFIRMED = Design("confirmed", confirmed_enqueue, ZSET.dequeue, ZSET.start)

RUNS = 200


@pytest.mark.parametrize(
    "configuration",
    [
        Configuration((LEGACY, LEGACY), 2),
        Configuration((LEGACY, LEGACY), 2, lost=1, crashes=1),
        Configuration((LEGACY, LEGACY), 2, initial=(List((b"a",)), None)),
        Configuration((LEGACY, LIST), 2),
        Configuration((LEGACY, ZSET), 2, clock="nondecreasing"),
        Configuration((SET_AND_LIST, SET_AND_LIST), 3),
        Configuration((SET_AND_LIST, SET_AND_LIST), 2, lost=1, crashes=1),
        Configuration((SET_AND_LIST, LIST), 2, crashes=1),
        Configuration((ZSET, ZSET), 3, clock="any", lost=1),
        Configuration((LATE_SET, LATE_SET), (free(2, (b"a", b"b", b"c")),) * 2),
        Configuration((CONFIRMED, CONFIRMED), 2, clock="any", lost=1),
    ],
    ids=str,
)
def test_monitors_definitions_and_search_agree(configuration: Configuration) -> None:
    monitors = {name: PROPERTIES[name](configuration) for name in DEFINITIONS}
    model = Model(configuration, monitors, merge=False)
    search = Search(model)
    search.run(limit=10**6)
    for name, find in search.finds.items():
        shortest = [*search.path(find)]
        assert first_broken_by_definition(shortest)[name] == len(shortest)
    choose = random.Random(0)
    for _ in range(RUNS):
        run = random_run(model, choose)
        broken = first_broken_by_monitor(run)
        assert broken == first_broken_by_definition(run)
        assert all(len([*search.path(search.finds[name])]) <= broken[name] for name in broken)

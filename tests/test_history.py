"""The judge against brute force, against simulated queues, and against what no queue can do."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.histories import Workload, explainable, simulate
from uniqfifo_spec.history import Call, History, Model, Outcome, Verdict, judge, judge_both

pytestmark = pytest.mark.once

MODELS: list[Model] = ["fifo", "bag"]

SMALL = {
    "plain": Workload(calls=5, clients=3, ids=2),
    "unknown outcomes": Workload(calls=5, clients=3, ids=2, unknown=0.4),
    "remove, and untold answers": Workload(calls=5, clients=3, ids=2, remove=0.2, untold=0.4),
    "coarse stamps": Workload(calls=5, clients=3, ids=2, coarse=3),
    "somebody looked in the end": Workload(calls=5, clients=3, ids=2, unknown=0.2, look=True),
    "one rollback": Workload(calls=4, clients=2, ids=2, unknown=0.2, rollback=0.5, look=True),
    "a bag": Workload(calls=5, clients=3, ids=3, model="bag", look=True),
}

LARGE = {
    "plain": Workload(calls=400, clients=10, ids=50),
    "few ids": Workload(calls=400, clients=10, ids=4, unknown=0.05),
    "unknown outcomes": Workload(calls=400, clients=10, ids=100, unknown=0.05, look=True),
    "a bag": Workload(calls=400, clients=10, ids=50, model="bag", unknown=0.02),
}


def says_yes(history: History, model: Model) -> bool:
    judgement = judge(history, model)
    assert judgement.verdict is not Verdict.UNDECIDED
    return judgement.verdict is Verdict.EXPLAINABLE


def mutated(history: History, rng: random.Random) -> History:
    """A history in which something else was answered: often what no queue can do."""
    calls = list(history.calls)
    dequeues = [at for at, call in enumerate(calls) if call.op == "dequeue"]
    answered = [at for at in dequeues if calls[at].outcome is Outcome.ANSWERED]
    if len(answered) > 1 and rng.random() < 0.7:
        one, other = rng.sample(answered, 2)
        first, second = calls[one].answer, calls[other].answer
        calls[one] = replace(calls[one], answer=second)
        if rng.random() < 0.5:  # swapped, or else one delivered twice
            calls[other] = replace(calls[other], answer=first)
    elif calls:
        del calls[rng.randrange(len(calls))]
    return replace(history, calls=tuple(calls))


@pytest.mark.parametrize("name", SMALL)
def test_the_judge_says_what_brute_force_says(name: str) -> None:
    rng = random.Random(name)
    seen = {True: 0, False: 0}
    for seed in range(250):
        history = simulate(seed, SMALL[name])
        for each in (history, mutated(history, rng)):
            for model in MODELS:
                expected = explainable(each, model)
                assert says_yes(each, model) is expected, (seed, model, each)
                seen[expected] += 1
            both = tuple(judgement.verdict for judgement in judge_both(each))
            assert both == (judge(each, "bag").verdict, judge(each, "fifo").verdict)
    assert min(seen.values()) > 20  # both answers, so that neither is a matter of course


def test_a_judge_that_forgets_real_time_would_differ() -> None:
    """The comparison can fail: here is a wrong judge, for which every call overlaps every other."""
    differs = 0
    for seed in range(100):
        history = mutated(simulate(seed, SMALL["plain"]), random.Random(seed))
        at_once = tuple(replace(call, call=0, ret=99) for call in history.calls)
        differs += says_yes(replace(history, calls=at_once), "fifo") != explainable(history, "fifo")
    assert differs > 5


@pytest.mark.parametrize("name", LARGE)
def test_what_a_queue_did_is_explained(name: str) -> None:
    for seed in range(3):
        assert says_yes(simulate(seed, LARGE[name]), LARGE[name].model)


def test_a_bag_is_no_fifo_and_a_fifo_is_a_bag() -> None:
    in_bag = [simulate(seed, replace(LARGE["a bag"], calls=60)) for seed in range(20)]
    assert not all(says_yes(history, "fifo") for history in in_bag)
    for seed in range(20):
        assert says_yes(simulate(seed, replace(LARGE["plain"], calls=60)), "bag")


@pytest.mark.parametrize("model", MODELS)
def test_one_delivery_too_many_is_found_among_many_calls(model: Model) -> None:
    history = simulate(7, LARGE["plain"])
    last = max(call.ret or 0 for call in history.calls)
    twice = next(call for call in history.calls if call.op == "dequeue" and call.answer)
    more = tuple(
        Call("late", "dequeue", None, last + 2 * n, last + 2 * n + 1, twice.answer) for n in (1, 2)
    )
    judgement = judge(replace(history, calls=(*history.calls, *more)), model)
    assert judgement.verdict is Verdict.UNEXPLAINABLE
    assert judgement.point is not None
    assert set(judgement.point.calls) <= {len(history.calls), len(history.calls) + 1}


def test_a_limit_that_is_hit_is_undecided() -> None:
    history = simulate(1, LARGE["unknown outcomes"])
    assert judge(history, "fifo", limit=10).verdict is Verdict.UNDECIDED

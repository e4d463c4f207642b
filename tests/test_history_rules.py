"""The rules that make the judge quick change no verdict: the plain search, without any, agrees.

More calls than brute force can take, and outcomes unknown often enough that every rule is used.
"""

from __future__ import annotations

import random

import pytest

from tests.histories import Workload, simulate
from tests.test_history import MODELS, mutated
from uniqfifo_spec.history import History, Model
from uniqfifo_spec.history.explain import explain
from uniqfifo_spec.history.outlook import Hope, Outlook
from uniqfifo_spec.history.search import Limit

pytestmark = pytest.mark.once

WORKLOADS = {
    "all known": Workload(calls=12, clients=5, ids=4, coarse=2),
    "unknown outcomes": Workload(calls=9, clients=4, ids=3, enqueue=0.6, unknown=0.4),
    "somebody looked": Workload(calls=9, clients=4, ids=3, enqueue=0.6, unknown=0.3, look=True),
    "a bag": Workload(calls=9, clients=4, ids=3, unknown=0.3, model="bag", look=True),
    "removals": Workload(calls=8, clients=4, ids=3, remove=0.2, unknown=0.3, untold=0.2, look=True),
    "one rollback": Workload(calls=7, clients=3, ids=3, unknown=0.2, rollback=0.5, lost=5),
}


def agree(history: History, model: Model) -> bool:
    quick = explain(model, history, Limit(10**6))
    plain = explain(model, history, Limit(10**6), careful=False)
    return (quick is None) == (plain is None)


def disagreements(workload: Workload, seeds: range) -> int:
    rng = random.Random(0)
    count = 0
    for seed in seeds:
        history = simulate(seed, workload)
        for _ in range(rng.randrange(3)):
            history = mutated(history, rng)
        count += sum(not agree(history, model) for model in MODELS)
    return count


@pytest.mark.parametrize("name", WORKLOADS)
def test_the_rules_change_no_verdict(name: str) -> None:
    assert disagreements(WORKLOADS[name], range(250)) == 0


def test_a_rule_that_gives_up_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong rule: an id that a call with unknown outcome must take is a hopeless case."""
    hope = Outlook.hope

    def hopeless(self: Outlook, *arguments: object) -> object:
        found, move = hope(self, *arguments)  # type: ignore[arg-type]
        return (found if move.doom is None else Hope.NONE), move

    monkeypatch.setattr(Outlook, "hope", hopeless)
    assert disagreements(WORKLOADS["unknown outcomes"], range(250)) > 5


def test_a_move_settled_too_early_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another: every taking that holds is made at once, whatever else is about its id."""
    monkeypatch.setattr(Outlook, "_is_alone", lambda self, at, about: True)
    assert disagreements(WORKLOADS["all known"], range(250)) > 5

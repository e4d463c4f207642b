"""Calls without answer, as the explorer judges them: neither failures nor jokers.

Covers B06 (jepsen-io/jepsen#596, anishathalye/porcupine#8): a timed-out call recorded as failed.
"""

from collections.abc import Sequence

import pytest

from uniqfifo_spec.designs import Answer
from uniqfifo_spec.explore import DEQUEUE, Operation, enqueue
from uniqfifo_spec.explore.events import Call, End, Step
from uniqfifo_spec.explore.linearizable import Linearizable, to_fifo
from uniqfifo_spec.keyspace import List

pytestmark = pytest.mark.once


def explained(pending: Sequence[bytes], *history: tuple[Operation, Answer | End]) -> bool:
    """Whether these calls, made one after the other, are linearizable to fifo."""
    keys = (List(tuple(pending)) if pending else None, None)
    monitor = Linearizable(to_fifo)
    state, judgement = monitor.initial(keys, 1), None
    for operation, answer in history:
        end = answer if isinstance(answer, End) else End.ANSWERED
        answered = None if isinstance(answer, End) else answer
        step = Step(0, operation, True, keys, keys, end, answered, (Call(operation, False),))
        state, judgement = monitor.observe(state, step)
        if judgement is False:
            return False
    return True


X, Y = b"x", b"y"
LOST = End.UNANSWERED


@pytest.mark.parametrize(
    ("pending", "history", "right"),
    [
        pytest.param([], [(enqueue(X), LOST), (DEQUEUE, X)], True, id="enqueue took effect"),
        pytest.param([], [(enqueue(X), LOST), (DEQUEUE, None)], True, id="enqueue never did"),
        pytest.param(
            [],
            [(enqueue(X), LOST), (DEQUEUE, None), (DEQUEUE, X)],
            True,
            id="enqueue took effect later",
        ),
        pytest.param([], [(enqueue(X), LOST), (DEQUEUE, X), (DEQUEUE, X)], False, id="but twice"),
        pytest.param([Y], [(DEQUEUE, LOST), (DEQUEUE, None)], True, id="dequeue took effect"),
        pytest.param([Y], [(DEQUEUE, LOST), (DEQUEUE, Y)], True, id="dequeue never did"),
        pytest.param([Y], [(DEQUEUE, LOST), (DEQUEUE, Y), (DEQUEUE, Y)], False, id="no joker"),
        pytest.param([], [(enqueue(X), End.REFUSED), (DEQUEUE, X)], False, id="never made"),
    ],
)
def test_a_call_without_answer_took_effect_once_or_never(
    pending: list[bytes], history: list[tuple[Operation, Answer | End]], right: bool
) -> None:
    assert explained(pending, *history) is right

"""Recorded concurrent histories, judged: can a queue have given these answers to these calls?

`judge(History(calls), "fifo")` searches for one order of the calls, in keeping with real time, in
which every answer is the model's. A call whose outcome is unknown may have its place anywhere after
its beginning, or none; but each call has one place, so it explains one thing and not two.

Histories of one queue; several are judged one by one, since queues are independent. `recording`
reads them from a file. Standard library only.
"""

from uniqfifo_spec.history.calls import (
    UNTOLD,
    Call,
    History,
    InvalidHistory,
    Outcome,
    ReturnBeforeCall,
    Stamp,
)
from uniqfifo_spec.history.explain import Explanation, RolledBack
from uniqfifo_spec.history.objects import Model
from uniqfifo_spec.history.verdict import LIMIT, Judgement, Point, Verdict, judge, judge_both

__all__ = [
    "LIMIT",
    "UNTOLD",
    "Call",
    "Explanation",
    "History",
    "InvalidHistory",
    "Judgement",
    "Model",
    "Outcome",
    "Point",
    "ReturnBeforeCall",
    "RolledBack",
    "Stamp",
    "Verdict",
    "judge",
    "judge_both",
]

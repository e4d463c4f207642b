"""How many steps per second the judge takes in traces: `python tests/benchmarks/traces.py`.

The port answers from a model in its memory, as fast as Python can, so that what is measured is the
kit: writing and reading the lines, the schema, and the comparison. The bar: 10,000 steps a second.
"""

from __future__ import annotations

import sys
import time

from uniqfifo_spec import fifo
from uniqfifo_spec.conformance.implementations import UNIQFIFO
from uniqfifo_spec.conformance.stdio import StdioTarget
from uniqfifo_spec.conformance.targets import QUEUES
from uniqfifo_spec.conformance.traces import judged, random_calls

STEPS = 100_000

PORT = """
import json, sys
queues = {}
def do(op, queue, id=None):
    pending = queues.setdefault(queue, {})
    if op == "dequeue":
        head = next(iter(pending), None)
        return {"id": pending.pop(head, None)}
    key = json.dumps(id)
    added = key not in pending
    pending.setdefault(key, id)
    return {"added": added}
for line in sys.stdin.buffer:
    request = json.loads(line)
    answer = {"seq": request["seq"], "ok": True}
    if request["op"] == "hello":
        answer |= {"implementation": {"name": "stub"}, "storages": ["list"]}
    if request["op"] == "trace":
        answer["results"] = [do(*step) for step in request["steps"]]
    print(json.dumps(answer), flush=True)
"""


def main() -> None:
    calls = random_calls(UNIQFIFO, STEPS)
    port = StdioTarget(f"{sys.executable} -c '{PORT}'", "redis://nowhere", "p", "list")
    port.start()
    began = time.perf_counter()
    answers = port.trace(calls, 600)
    left: dict[str, fifo.Pending] = dict.fromkeys(QUEUES, ())
    for call in calls:
        assert call.queue is not None
        pending = left[call.queue]
        step = fifo.dequeue(pending) if call.id is None else fifo.enqueue(pending, call.id)
        left[call.queue] = step[1]
    problems = [each.problem for each in judged(calls, answers, left) if each.problem]
    seconds = time.perf_counter() - began
    port._port.kill()  # type: ignore[union-attr]
    assert not problems, problems
    print(f"{STEPS:,} steps in {seconds:.2f} s: {STEPS / seconds:,.0f} a second")


if __name__ == "__main__":
    main()

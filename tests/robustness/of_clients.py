"""What happens to the clients, or what they do to one another."""

from __future__ import annotations

import signal
import time

from tests.robustness.catalogue import fault
from tests.robustness.queues import QUEUES
from tests.robustness.stage import Stage
from uniqfifo import NotExecuted, Reason, UniqueQueue

PUSH_IF_EMPTY = """
return redis.call('EXISTS', KEYS[1]) == 0 and redis.call('RPUSH', KEYS[1], ARGV[1])
"""
IN_LISTS = dict.fromkeys(QUEUES, "list")


@fault("none", seen=False)
def nothing(stage: Stage) -> None:
    """Nothing happens"""


@fault("client-killed", unknown=True, seen=False)
def client_killed(stage: Stage) -> None:
    """`kill -9` of two client processes"""
    for process in stage.traffic.processes[1:3]:
        stage.traffic.kill(process)
        time.sleep(0.1)


@fault("cancelled", kinds=("url-asyncio", "plain-asyncio"), plan={"cancels": 0.1}, unknown=True)
def cancelled(stage: Stage) -> None:
    """One of ten asyncio calls is cancelled, at any moment"""


@fault("forked", kinds=("url", "plain"), seen=False)
def forked(stage: Stage) -> None:
    """The processes fork, and go on in parent and child with the same warm client"""
    for process in stage.traffic.processes:
        process.order("fork", 0.7)
    time.sleep(1)


@fault(
    "pool-exhausted",
    options={"max_connections": 1, "socket_timeout": 5},
    refused={Reason.CONNECTION},
)
def pool_exhausted(stage: Stage) -> None:
    """The one connection of a pool is held for longer than anyone waits"""
    stage.server.process.send_signal(signal.SIGSTOP)
    time.sleep(2)
    stage.server.process.send_signal(signal.SIGCONT)


@fault(
    "started-at-once",
    plan={"queues": IN_LISTS, "ids": 1000},
    kinds=("url", "plain-asyncio"),
    late=tuple(  # slowly and of many ids, since so many at once make it hard to judge
        {"kind": kind, "hosts": 10, "pause": 0.1, "ids": 1000} for kind in ("plain", "url-asyncio")
    ),
    refused={Reason.WRONG_TYPE},
)
def started_at_once(stage: Stage) -> None:
    """20 hosts migrate a queue at once, while two old hosts use it as a LIST"""
    stage.traffic.retired |= {each for each in stage.traffic.processes if not each.plan.late}
    stage.traffic.go_late()
    time.sleep(1)


@fault("flipped", refused={Reason.WRONG_TYPE})
def flipped(stage: Stage) -> None:
    """A queue runs empty, and an old host makes a LIST of it"""
    log = stage.traffic.own_log()
    with stage.admin() as admin:
        for key in ("zset", "strict"):
            queue = UniqueQueue(admin, key, QUEUES[key])
            is_list = False
            while not is_list:
                with log.call("fault", "dequeue", key) as noted:
                    noted.answer = queue.dequeue()
                if noted.answer is None:
                    with log.call("fault", "enqueue", key, "old") as noted:
                        is_list = noted.answer = admin.eval(PUSH_IF_EMPTY, 1, key, "old") == 1
                        if not is_list:
                            raise NotExecuted(Reason.WRONG_TYPE, "it is not empty any more")
    log.close()

"""The server's clock goes wrong. It is the order of `zset` that depends on it, and nothing else."""

from __future__ import annotations

import time

from tests.robustness.catalogue import SERVERS, fault
from tests.robustness.clock import FOLLOW, TRUE, set_clock, settable
from tests.robustness.queues import FIRST
from tests.robustness.stage import Stage, single

OTHERS = tuple(name for name in SERVERS if name not in FOLLOW)


def with_a_clock(stage: Stage) -> None:
    """One server whose clock can be set."""
    stage.server = stage.spawn(binary=settable(stage))
    stage.target["port"] = stage.server.port


@fault("clock-forward", servers=FOLLOW, setting=with_a_clock, seen=False)
def forward(stage: Stage) -> None:
    """The clock jumps an hour ahead"""
    set_clock(stage, "+1h")


@fault("clock-back", servers=FOLLOW, setting=with_a_clock, seen=False, reorders={"zset"})
def back(stage: Stage) -> None:
    """The clock jumps an hour back"""
    set_clock(stage, "-1h")


@fault("clock-frozen", servers=FOLLOW, setting=with_a_clock, seen=False, reorders={"zset"})
def frozen(stage: Stage) -> None:
    """The clock stands still for a while"""
    set_clock(stage, time.strftime("%Y-%m-%d %H:%M:%S"))
    time.sleep(0.5)
    set_clock(stage, TRUE)


def from_the_future(stage: Stage) -> None:
    """One server, and on it ids that were enqueued while its clock was an hour ahead."""
    single(stage)
    ahead = time.time_ns() // 1000 + 3_600_000_000
    with stage.admin() as admin:
        for key in ("zset", "strict"):
            admin.zadd(key, {id: ahead + place for place, id in enumerate(FIRST)})
        admin.rpush("list", *FIRST)


@fault("clock-was-ahead", servers=OTHERS, setting=from_the_future, seen=False, reorders={"zset"})
def was_ahead(stage: Stage) -> None:
    """The clock was an hour ahead, and is right again"""

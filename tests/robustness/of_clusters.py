"""A cluster moves keys about or loses a node; Sentinel names another primary."""

from __future__ import annotations

import signal
import time
from functools import partial

import redis

from tests.cluster import ask, moving_about
from tests.proxy import LOOPBACK
from tests.robustness.catalogue import fault
from tests.robustness.queues import QUEUES
from tests.robustness.stage import Stage, clustered, supervised
from tests.sentinel import SERVICE, await_true
from uniqfifo import Reason

SERVERS = ("redis-6.2", "redis-8.2", "valkey-9.1")

leaderless = partial(
    fault,
    servers=SERVERS,
    refused={Reason.CONNECTION, Reason.READONLY, Reason.CLUSTER_DOWN, Reason.MASTER_DOWN},
    unknown=True,
)
"""A fault in which for a while nobody has the key."""


@fault("slots-moved", servers=SERVERS, setting=clustered, seen=False)
def slots_moved(stage: Stage) -> None:
    """The slots of the queues go from node to node"""
    with moving_about(QUEUES, [node for node in stage.nodes if node is not stage.replica]) as moved:
        await_true(lambda: len(moved) >= 6)


@fault(
    "cluster-node-stopped",
    servers=SERVERS,
    setting=clustered,
    options={"socket_timeout": 0.3},
    unknown=True,
)
def cluster_node_stopped(stage: Stage) -> None:
    """SIGSTOP of a primary, for longer than the clients wait and too short for a failover"""
    for _ in range(4):
        stage.server.process.send_signal(signal.SIGSTOP)
        time.sleep(0.6)
        stage.server.process.send_signal(signal.SIGCONT)
        time.sleep(0.3)


@leaderless("cluster-failover", setting=clustered, seen=False)
def cluster_failover(stage: Stage) -> None:
    """CLUSTER FAILOVER, as an operator orders it"""
    assert stage.replica
    ask(stage.replica, "FAILOVER")
    _await_primary(stage)


@leaderless("cluster-node-killed", setting=clustered, rolls_back=True)
def cluster_node_killed(stage: Stage) -> None:
    """`kill -9` of a primary: its replica takes over"""
    with stage.may_roll_back():
        stage.kill()
        _await_primary(stage)


@leaderless("sentinel-failover", setting=supervised, rolls_back=True, seen=False)
def sentinel_failover(stage: Stage) -> None:
    """SENTINEL FAILOVER, as an operator orders it"""
    with redis.Redis(LOOPBACK, stage.target["port"], protocol=2) as sentinel:
        sentinel.execute_command("SENTINEL", "FAILOVER", SERVICE)
    is_primary = True
    with stage.admin() as old:
        while is_primary:  # it goes on serving until it is told, seconds later
            with stage.may_roll_back():
                is_primary = old.info("replication")["role"] == "master"
    _await_primary(stage)


@leaderless("sentinel-primary-killed", setting=supervised, rolls_back=True)
def sentinel_primary_killed(stage: Stage) -> None:
    """`kill -9` of the primary: Sentinel makes its replica the primary"""
    with stage.may_roll_back():
        stage.kill()
        _await_primary(stage)


def _await_primary(stage: Stage) -> None:
    """Until the replica is the primary."""
    assert stage.replica
    with stage.replica.client() as client:
        await_true(lambda: client.info("replication")["role"] == "master")
    stage.server = stage.replica
    time.sleep(0.1)

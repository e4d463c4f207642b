"""The server is there, and refuses: by its limits, its settings, or who may do what."""

from __future__ import annotations

import time

from tests.faults import endless_script, failing_snapshots, memory_limit, since
from tests.robustness.catalogue import SERVERS, fault
from tests.robustness.queues import QUEUES
from tests.robustness.stage import Stage
from uniqfifo import Reason

SO_LONG = 0.3  # seconds
COMMANDS = (
    *("linsert", "rpush", "lrem", "lpop", "time", "zadd", "zrevrange", "zrange", "zrem"),
    *("eval", "evalsha"),
)


@fault("out-of-memory", refused={Reason.OUT_OF_MEMORY})
def out_of_memory(stage: Stage) -> None:
    """`maxmemory` is reached, with `noeviction`"""
    with stage.admin() as admin, memory_limit(admin):
        time.sleep(SO_LONG)


@fault("evicted", refused={Reason.OUT_OF_MEMORY}, rolls_back=True, seen=False)
def evicted(stage: Stage) -> None:
    """`maxmemory` is reached, with `allkeys-lru`: the queues are evicted"""
    stage.set(maxmemory_policy="allkeys-lru")
    with stage.may_roll_back(), stage.admin() as admin:
        admin.config_set("maxmemory", 1)
        while admin.exists(*QUEUES):  # from now on nothing can be enqueued
            time.sleep(0.001)
    time.sleep(SO_LONG)
    stage.set(maxmemory=0, maxmemory_policy="noeviction")


@fault(
    "acl",
    servers=tuple(name for name in SERVERS if name in since("6.0")),
    refused={Reason.NO_PERMISSION},
)
def without_a_permission(stage: Stage) -> None:
    """The user loses the permission for each command of the queues in turn"""
    with stage.admin() as admin:
        for command in COMMANDS:
            admin.execute_command("ACL", "SETUSER", "default", f"-{command}")
            time.sleep(0.1)
            admin.execute_command("ACL", "SETUSER", "default", f"+{command}")


@fault("busy", refused={Reason.BUSY})
def busy(stage: Stage) -> None:
    """A script of somebody else runs for long"""
    stage.set(lua_time_limit=20)
    with endless_script(stage.server):
        time.sleep(SO_LONG)


@fault("misconf", refused={Reason.MISCONF})
def failing_persistence(stage: Stage) -> None:
    """Snapshots fail, so the server refuses to write"""
    with failing_snapshots(stage.server):
        time.sleep(SO_LONG)


@fault("no-replicas", refused={Reason.NO_REPLICAS})
def no_replicas(stage: Stage) -> None:
    """`min-replicas-to-write` is not reached"""
    stage.set(min_slaves_to_write=1)
    time.sleep(SO_LONG)
    stage.set(min_slaves_to_write=0)


@fault(
    "renamed-lrem",
    args=("--rename-command", "LREM", ""),
    refused={Reason.UNSUPPORTED_SERVER},
)
def without_lrem(stage: Stage) -> None:
    """LREM is renamed away"""


@fault(
    "renamed-zadd",
    args=("--rename-command", "ZADD", ""),
    refused={Reason.UNSUPPORTED_SERVER, Reason.WRONG_TYPE},
    served=False,
)
def without_zadd(stage: Stage) -> None:
    """ZADD is renamed away, and the queues are still LISTs"""


@fault(
    "wrong-password",
    refused={Reason.AUTHENTICATION},
    unknown=True,
)
def wrong_password(stage: Stage) -> None:
    """The password changes, and every connection is closed"""
    with stage.admin(single_connection_client=True) as admin:
        admin.config_set("requirepass", "secret")
        admin.execute_command("AUTH", "secret")  # up to 5.0 also who is connected has to
        admin.client_kill_filter(_type="normal", skipme=True)
        time.sleep(SO_LONG)
        admin.config_set("requirepass", "")


@fault("too-many-clients", refused={Reason.TOO_MANY_CLIENTS}, unknown=True)
def too_many_clients(stage: Stage) -> None:
    """`maxclients` is reached, after every connection was closed"""
    with stage.admin(single_connection_client=True) as admin:
        admin.config_set("maxclients", 1)
        admin.client_kill_filter(_type="normal", skipme=True)
        time.sleep(SO_LONG)
        admin.config_set("maxclients", 1000)


@fault("script-flush", seen=False)
def script_flush(stage: Stage) -> None:
    """SCRIPT FLUSH again and again"""
    with stage.admin() as admin:
        for _ in range(50):
            admin.script_flush()
            time.sleep(0.01)

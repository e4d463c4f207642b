"""A server dies, stops, loads, or has another one take its place."""

from __future__ import annotations

import signal
import time

from tests.faults import await_copy, slow_log
from tests.proxy import Proxy
from tests.robustness.catalogue import fault
from tests.robustness.clock import FOLLOW, behind
from tests.robustness.stage import Stage, follow, fronted
from uniqfifo import Reason

AWAY = 1.3  # seconds: longer than a call that found no connection is tried again
ALWAYS = ("--appendonly", "yes", "--appendfsync", "always")
EVERYSEC = ("--appendonly", "yes", "--appendfsync", "everysec")
GONE = {Reason.CONNECTION, Reason.LOADING}


def killed(stage: Stage) -> None:
    stage.kill()
    time.sleep(AWAY)
    stage.restart()
    stage.await_up()


@fault("killed-aof-always", args=ALWAYS, refused=GONE, unknown=True)
def killed_with_every_write_on_disk(stage: Stage) -> None:
    """`kill -9` and a restart, with `appendfsync always`"""
    killed(stage)


@fault("killed-aof-everysec", args=EVERYSEC, refused=GONE, unknown=True, rolls_back=True)
def killed_with_a_second_not_on_disk(stage: Stage) -> None:
    """`kill -9` and a restart, with `appendfsync everysec`"""
    with stage.may_roll_back():
        killed(stage)


@fault("killed-no-aof", refused=GONE, unknown=True, rolls_back=True)
def killed_with_nothing_on_disk(stage: Stage) -> None:
    """`kill -9` and a restart, without persistence"""
    with stage.may_roll_back():
        killed(stage)


@fault("stopped", refused={Reason.CONNECTION}, unknown=True)
def stopped(stage: Stage) -> None:
    """SIGSTOP for longer than the clients wait for an answer"""
    stage.server.process.send_signal(signal.SIGSTOP)
    time.sleep(1.7)
    stage.server.process.send_signal(signal.SIGCONT)


@fault("loading", args=ALWAYS, refused=GONE, unknown=True)
def loading(stage: Stage) -> None:
    """`kill -9`, and then the server is long in loading what it had"""
    stage.kill()
    log = max(stage.server.directory.rglob("*.aof"), key=lambda path: "incr" in path.name)
    with log.open("ab") as file:
        file.write(slow_log(40_000))
    stage.restart()
    stage.await_up()


@fault("readonly", refused={Reason.READONLY})
def readonly(stage: Stage) -> None:
    """The server becomes a read-only replica, of nobody, for a while"""
    with stage.admin() as admin:
        admin.execute_command("SLAVEOF", "127.0.0.1", 1)
        time.sleep(0.3)
        admin.execute_command("SLAVEOF", "NO", "ONE")


@fault(
    "master-down",
    args=("--slave-serve-stale-data", "no"),
    refused={Reason.MASTER_DOWN, Reason.READONLY},
)
def master_down(stage: Stage) -> None:
    """The same, and it does not serve old data"""
    readonly.strike(stage)


def with_a_link(stage: Stage) -> None:
    """A replica whose link to its primary can be cut."""
    fronted(stage)
    stage.link = stage.stack.enter_context(Proxy())
    stage.link.target = stage.server.port
    follow(stage, stage.link.port)


@fault(
    "promoted-lagging",
    setting=with_a_link,
    refused={Reason.CONNECTION},
    unknown=True,
    seen=False,
    rolls_back=True,
)
def promoted_with_lag(stage: Stage) -> None:
    """`kill -9`, and a replica that is 0.3 s behind takes over"""
    with stage.link.refusing():
        stage.link.drop()
        time.sleep(0.3)
        with stage.may_roll_back():
            stage.kill()
            stage.promote()


def with_a_slow_clock(stage: Stage) -> None:
    """A replica whose clock is two seconds behind."""
    fronted(stage)
    follow(stage, stage.server.port, binary=behind(stage, 2))


@fault(
    "promoted-clock-behind",
    servers=FOLLOW,
    setting=with_a_slow_clock,
    refused={Reason.CONNECTION},
    unknown=True,
    seen=False,
    reorders={"zset"},
)
def promoted_with_its_clock_behind(stage: Stage) -> None:
    """A replica that has everything takes over; its clock is 2 s behind"""
    assert stage.proxy and stage.replica
    with stage.proxy.refusing():
        stage.proxy.drop()
        with stage.server.client() as source, stage.replica.client() as copy:
            await_copy(source, copy)
        stage.kill()
        stage.promote()

"""What is between the clients and the server breaks."""

from __future__ import annotations

import time

import trustme

from tests.proxy import STAGES, Cut, Delay, Reset, Swallow, free_port
from tests.proxy import Fault as Spoilt
from tests.robustness.catalogue import fault
from tests.robustness.stage import Stage, fronted, single
from tests.tls import certificate, speaking_tls
from uniqfifo import Reason

REQUESTS = (b"EVALSHA", b"LPOP")
TIMES = 4  # of each request


def spoil(stage: Stage, *faults: Spoilt) -> None:
    """Spoil some of the next exchanges, and wait until that is done."""
    assert stage.proxy
    for each in faults:
        for request in REQUESTS:
            stage.proxy.spoil(request, each, times=TIMES)
    while stage.proxy.left():
        time.sleep(0.01)


@fault("reply-swallowed", setting=fronted, unknown=True)
def swallowed(stage: Stage) -> None:
    """The server answers, and nobody hears it"""
    spoil(stage, Swallow())


@fault("reply-delayed", setting=fronted, unknown=True)
def delayed(stage: Stage) -> None:
    """The answer comes when the client has given up"""
    spoil(stage, Delay(1.3))


@fault("reply-cut", setting=fronted, unknown=True)
def cut(stage: Stage) -> None:
    """The connection ends in the middle of an answer"""
    spoil(stage, Cut(0), Cut(1), Cut(3))


@fault("reset", setting=fronted, unknown=True)
def reset(stage: Stage) -> None:
    """The connection is reset at each stage of an exchange"""
    spoil(stage, *map(Reset, STAGES))


@fault("connections-killed", unknown=True, seen=False)
def connections_killed(stage: Stage) -> None:
    """CLIENT KILL of all clients, again and again"""
    with stage.admin(single_connection_client=True) as admin:
        for _ in range(20):
            admin.client_kill_filter(_type="normal", skipme=True)
            time.sleep(0.03)


@fault("unreachable", setting=fronted, refused={Reason.CONNECTION}, unknown=True)
def unreachable(stage: Stage) -> None:
    """Every connection breaks, and for two seconds none can be made"""
    assert stage.proxy
    with stage.proxy.refusing():
        stage.proxy.drop()
        time.sleep(2)


def with_tls(stage: Stage) -> None:
    """One server that speaks TLS, with a certificate that the clients trust."""
    port = free_port()
    stage.args += speaking_tls(stage.folder, port)
    single(stage)
    trust = {"ssl": True, "ssl_ca_certs": f"{stage.folder / 'ca'}"}
    stage.target |= {"port": port, "options": trust}


@fault(
    "tls-wrong-certificate",
    servers=("redis-7.0",),  # the only one here that speaks TLS
    setting=with_tls,
    refused={Reason.CONNECTION},
    unknown=True,
)
def wrong_certificate(stage: Stage) -> None:
    """The server shows a certificate of somebody else's authority"""
    wrong = certificate(trustme.CA(), stage.folder, "wrong")
    right = {name: path.replace("wrong", "right") for name, path in wrong.items()}
    with stage.admin(single_connection_client=True) as admin:
        for shown, seconds in ((wrong, 1.5), (right, 0)):
            admin.execute_command("CONFIG SET", *(word for pair in shown.items() for word in pair))
            admin.client_kill_filter(_type="normal", skipme=True)
            time.sleep(seconds)

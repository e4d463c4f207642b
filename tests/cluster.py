"""Starts real cluster nodes and moves slots between them."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from itertools import pairwise

import redis

from tests.proxy import LOOPBACK
from uniqfifo_spec.conformance.spawn import CannotSpawn, Server, spawn

SLOTS = 16384
_TRIES = 20


def start_node(
    stack: ExitStack, binary: str, *args: str, announced_port: int | None = None
) -> Server:
    """A node that knows no other. It may say that it is at another port."""
    args = ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000", *args)
    if announced_port:
        args += ("--cluster-announce-ip", LOOPBACK)
        args += ("--cluster-announce-port", str(announced_port))
    for _ in range(_TRIES):
        with suppress(CannotSpawn):  # the port may be too high: the nodes' own is 10,000 above it
            return stack.enter_context(spawn(binary, *args))
    raise AssertionError(f"no node of {binary} comes up")


def start_cluster(stack: ExitStack, binary: str, nodes: int = 3) -> list[Server]:
    """Nodes that share the slots, the first one third to the first one, and so on."""
    started = [start_node(stack, binary) for _ in range(nodes)]
    bounds = [SLOTS * place // nodes for place in range(nodes + 1)]
    for node, (first, end) in zip(started, pairwise(bounds), strict=True):
        give_slots(node, first, end)
    for node in started[1:]:
        meet(started[0], node)
    wait_until_ok(started)
    return started


def give_slots(node: Server, first: int, end: int) -> None:
    """Give slots to a node while nobody has them."""
    ask(node, "ADDSLOTS", *range(first, end))


def meet(one: Server, other: Server) -> None:
    """Let two nodes get to know each other."""
    ask(one, "MEET", LOOPBACK, other.port)


def wait_until_ok(nodes: Iterable[Server]) -> None:
    """Wait until every node says that the cluster serves all slots."""
    deadline = time.monotonic() + 30
    for node in nodes:
        while ask(node, "INFO")["cluster_state"] != "ok":
            assert time.monotonic() < deadline, node.log()
            time.sleep(0.05)


def ask(node: Server, *words: object) -> object:
    """What a node answers to a CLUSTER command."""
    with node.client(decode_responses=True) as client:
        return client.execute_command(f"CLUSTER {words[0]}", *words[1:])


def move_slot(slot: int, source: Server, target: Server, key: str | None = None) -> Iterable[str]:
    """Move a slot and the keys in it, step by step: what follows a step is done before the next."""
    ask(target, "SETSLOT", slot, "IMPORTING", ask(source, "MYID"))
    ask(source, "SETSLOT", slot, "MIGRATING", ask(target, "MYID"))
    yield "open"
    with source.client() as client:
        for key in ask(source, "GETKEYSINSLOT", slot, 1000):
            client.migrate(LOOPBACK, target.port, key, 0, 5000)
            yield "moved"
    for node in (target, source):
        ask(node, "SETSLOT", slot, "NODE", ask(target, "MYID"))
        yield "given"


def is_alive(node: Server) -> bool:
    with suppress(redis.RedisError), node.client(socket_timeout=0.2) as client:
        return bool(client.ping())
    return False

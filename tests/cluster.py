"""Starts real cluster nodes, and moves slots between them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle, pairwise
from typing import Any

import redis

from tests.proxy import LOOPBACK, Proxy
from uniqfifo_spec.conformance.spawn import CannotSpawn, Server, spawn

SLOTS = 16384
_TRIES = 30


def start_node(
    stack: ExitStack, binary: str, *args: str, announced_port: int | None = None
) -> Server:
    """A node that knows no other. It may say that it is at another port."""
    args += ("--cluster-enabled", "yes", "--cluster-node-timeout", "1000")
    args += ("--repl-diskless-sync-delay", "0")
    if announced_port:
        args += ("--cluster-announce-ip", LOOPBACK)
        args += ("--cluster-announce-port", str(announced_port))
    for _ in range(_TRIES):
        with suppress(CannotSpawn):  # the port may be too high: the nodes' own is 10,000 above it
            return stack.enter_context(spawn(binary, *args))
    raise AssertionError(f"no node of {binary} comes up")


def start_cluster(stack: ExitStack, binary: str, count: int = 3) -> list[Server]:
    """Nodes that share the slots in order."""
    nodes = [start_node(stack, binary) for _ in range(count)]
    bounds = [SLOTS * place // count for place in range(count + 1)]
    for node, (first, end) in zip(nodes, pairwise(bounds), strict=True):
        ask(node, "ADDSLOTS", *range(first, end))
    join(nodes)
    return nodes


def start_behind(stack: ExitStack, proxy: Proxy, binary: str) -> tuple[Server, Server]:
    """A node that has all slots but one and says that it is where the proxy is, and another.

    Some clients forget a node that failed them, so they need to know another one.
    """
    node = start_node(stack, binary, announced_port=proxy.port)
    proxy.target = node.port
    other = start_node(stack, binary)
    ask(node, "ADDSLOTS", *range(1, SLOTS))
    ask(other, "ADDSLOTS", 0)
    join([node, other])
    return node, other


def join(nodes: list[Server]) -> None:
    """Make one cluster of these nodes, and wait until all of them say that it is whole."""
    for node in nodes[1:]:
        ask(nodes[0], "MEET", LOOPBACK, node.port)
    deadline = time.monotonic() + 30
    for node in nodes:
        while not _is_whole(ask(node, "INFO"), len(nodes)):
            assert time.monotonic() < deadline, node.log()
            time.sleep(0.05)


def forget(node: Server, others: Iterable[Server]) -> None:
    """Take a node without slots out of the cluster."""
    id = ask(node, "MYID")
    for other in others:
        ask(other, "FORGET", id)


def _is_whole(info: dict[str, str], count: int) -> bool:
    return info["cluster_state"] == "ok" and int(info["cluster_known_nodes"]) >= count


def ask(node: Server, *words: object) -> Any:
    """What a node answers to a CLUSTER command."""
    with node.client(decode_responses=True) as client:
        return client.execute_command(f"CLUSTER {words[0]}", *words[1:])


def owner_of(key: str, nodes: list[Server]) -> Server:
    """The node that serves this key."""
    for node in nodes:
        with node.client() as client, suppress(redis.ResponseError):
            client.exists(key)
            return node
    raise AssertionError(f"nobody has {key}")


def move_slot(slot: int, source: Server, target: Server) -> Iterator[str]:
    """Move a slot and the keys in it. Each step is done when it is yielded."""
    ask(target, "SETSLOT", slot, "IMPORTING", ask(source, "MYID"))
    ask(source, "SETSLOT", slot, "MIGRATING", ask(target, "MYID"))
    yield "open"
    with source.client() as client:
        while keys := ask(source, "GETKEYSINSLOT", slot, 100):
            for key in keys:
                client.migrate(LOOPBACK, target.port, key, 0, 5000)
            yield "moved"
    ask(target, "SETSLOT", slot, "NODE", ask(target, "MYID"))
    yield "given"
    with suppress(redis.ResponseError):  # a primary that gave its last slot is none any more
        ask(source, "SETSLOT", slot, "NODE", ask(target, "MYID"))
    yield "known"


@contextmanager
def moving_about(keys: Iterable[str], nodes: list[Server]) -> Iterator[list[str]]:
    """Meanwhile the slots of these keys go from node to node; says which have been moved so far."""
    moved: list[str] = []
    done = threading.Event()

    def move() -> None:
        for key in cycle(keys):
            source = owner_of(key, nodes)
            target = nodes[nodes.index(source) - 1]
            for _ in move_slot(int(ask(source, "KEYSLOT", key)), source, target):
                time.sleep(0.005)
            moved.append(key)
            if done.is_set():
                return

    thread = threading.Thread(target=move)
    thread.start()
    try:
        yield moved
    finally:
        done.set()
        thread.join()

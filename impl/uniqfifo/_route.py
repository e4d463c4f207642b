"""Which server a queue's requests go to.

A cluster client has a map of who serves which key, and repairs it when its own commands fail. Ours
do not pass through that layer; and repairing the map closes connections that other calls are using.
So what we learn about our one key is remembered here.
"""

import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from inspect import iscoroutinefunction
from typing import Any, NamedTuple, Protocol

from uniqfifo._exchange import Client, Lender, exchange, lender_of, meaning_of
from uniqfifo._steps import Steps
from uniqfifo.errors import NotExecuted, QueueError, Reason
from uniqfifo.refusals import server_text
from uniqfifo.storage import encode_key

Address = tuple[str, int]

_MOST_OTHERS = 3  # each may take as long as the timeout for connecting

# After these another node may be the one to ask.
_LOST = {
    Reason.CONNECTION,
    Reason.READONLY,
    Reason.LOADING,
    Reason.CLUSTER_DOWN,
    Reason.MASTER_DOWN,
}


class Way(NamedTuple):
    """Connections to a server, and whether it is to be told that it is taking over the key."""

    lender: Lender
    asking: bool = False


class Route(Protocol):
    """Finds the server for one key."""

    def way(self) -> Steps[Way]:
        """The way to the server that has the key, as far as is known."""

    def detour(self, refused: NotExecuted, way: Way) -> Steps[Way]:
        """Another way after this refusal. Raises the refusal if there is none."""


def route_to(client: Client, key: str, *, awaited: bool) -> Route:
    """The route to a key for any kind of client; `awaited` if it is to be an asyncio one.

    Raises TypeError for what is no such client, and for a key that is no text.
    """
    execute = getattr(client, "execute_command", None)
    if execute is None or hasattr(client, "command_stack"):
        raise TypeError(f"a client is a redis.Redis or its like, not a {type(client).__name__}")
    if iscoroutinefunction(execute) is not awaited:
        wanted = "uniqfifo for sync clients, uniqfifo.asyncio for asyncio ones"
        raise TypeError(f"this is the other kind of client: {wanted}")
    if not isinstance(key, str):
        raise TypeError(f"a key is a str, not a {type(key).__name__}")
    if hasattr(client, "get_node_from_key"):
        return _InCluster(client, encode_key(key))
    return _Direct(client)


class _Direct:
    """One server, or whichever one Sentinel names when a connection is made."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._way: Way | None = None

    def way(self) -> Steps[Way]:
        yield from ()  # nothing to wait for
        if self._way is None:
            self._way = Way(lender_of(self._client))
        return self._way

    def detour(self, refused: NotExecuted, way: Way) -> Steps[Way]:
        yield from ()
        raise refused


class _InCluster:
    """The node that serves the key."""

    def __init__(self, client: Client, key: bytes) -> None:
        self._client = client
        self._key = key
        self._learned: Address | None = None
        self._asked: Any = None  # the node that was asked last

    def way(self) -> Steps[Way]:
        with _nothing_sent():
            if hasattr(self._client, "initialize"):  # the asyncio one
                yield self._client.initialize()
            node = (yield from self._node(self._learned)) if self._learned else None
            if node is None:
                self._learned = None
                node = self._client.get_node_from_key(self._key)
                # redis-py 7 may answer with a copy, whose connections it would never close.
                node = self._client.get_node(node_name=node.name) or node
            self._asked = node
            return Way(self._lender(node))

    def detour(self, refused: NotExecuted, way: Way) -> Steps[Way]:
        match server_text(refused.__cause__).split():
            case ["MOVED", _, address]:
                self._learned = self._address(self._asked, *address.rsplit(":", 1))
                return (yield from self.way())
            case ["ASK", _, address]:
                with _nothing_sent():
                    target = self._address(self._asked, *address.rsplit(":", 1))
                    node = yield from self._node(target)
                    if node is None:
                        raise refused
                    return Way(self._lender(node), asking=True)
            case ["TRYAGAIN", *_]:
                return way
        if refused.reason in _LOST:
            asked = self._asked
            yield from self._ask_others()
            if refused.reason is Reason.READONLY:
                # It was the primary: a connection for reads there does not answer MOVED.
                way = yield from self.way()
                if self._asked is not asked:
                    return way
        raise refused

    def _ask_others(self) -> Steps[None]:
        """Learn from other nodes who has the key."""
        self._learned = None
        slot = self._client.keyslot(self._key)
        others = [node for node in self._client.get_nodes() if node is not self._asked]
        for node in random.sample(others, min(len(others), _MOST_OTHERS)):
            with suppress(Exception):  # what fails here is no part of the call
                ranges = yield from exchange(self._lender(node), (b"CLUSTER", b"SLOTS"))
                for first, last, (host, port, *_), *_ in ranges:
                    if first <= slot <= last:
                        self._learned = self._address(node, (host or b"").decode(), port)
            if self._learned and self._client.get_node(*self._learned) is not self._asked:
                return  # else it may not have heard yet
        if self._learned is None:
            with suppress(Exception):  # nobody is where the map says, so it is worth nothing
                yield self._client.nodes_manager.initialize()

    def _node(self, address: Address) -> Steps[Any]:
        node = self._client.get_node(*address)
        if node is None:
            # It is new in the cluster, so the client's map has to be renewed after all.
            yield self._client.nodes_manager.initialize()
            node = self._client.get_node(*address)
        return node

    def _address(self, teller: Any, host: str, port: str | int) -> Address:
        # A node that does not know its own host leaves it out.
        address = self._client.nodes_manager.remap_host_port(host or teller.host, int(port))
        return address[0], address[1]

    def _lender(self, node: Any) -> Lender:
        if hasattr(node, "acquire_connection"):
            return lender_of(node)
        client = self._client
        connect = getattr(client, "get_redis_connection", None) or client.get_valkey_connection
        return lender_of(connect(node))


@contextmanager
def _nothing_sent() -> Iterator[None]:
    """What fails here fails before the call is sent."""
    try:
        yield
    except QueueError:
        raise
    except Exception as error:
        raise meaning_of(error, sent=False) from error

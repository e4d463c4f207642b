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

from uniqfifo._exchange import Client, Lender, exchange, lender_of, meaning_of, sentinel_of
from uniqfifo._steps import Steps
from uniqfifo.errors import NotExecuted, QueueError, Reason
from uniqfifo.refusals import server_text
from uniqfifo.storage import encode_key

Address = tuple[str, int]

_MOST_OTHERS = 3  # each may take as long as the timeout for connecting

# After these another node of the cluster may be the one to ask. (To a connection for reads, who was
# the primary once answers READONLY, not MOVED.)
_LOST = {
    Reason.CONNECTION,
    Reason.READONLY,
    Reason.LOADING,
    Reason.CLUSTER_DOWN,
    Reason.MASTER_DOWN,
}


class Way(NamedTuple):
    """Connections to a server. In a cluster also its node, and whether it is to be told that it is
    taking over the key.
    """

    lender: Lender
    node: Any = None
    asking: bool = False


class Route(Protocol):
    """Finds the server for one key."""

    def may_pass(self, refused: NotExecuted) -> bool:
        """May a new try fare better than the one that was refused like this?"""

    def way(self, before: Way | None = None, refused: NotExecuted | None = None) -> Steps[Way]:
        """The way to the server that has the key, as far as is known.

        `refused` is why the last try failed, `before` the way that it took, if it found one.
        """


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

    def may_pass(self, refused: NotExecuted) -> bool:
        if refused.reason is Reason.READONLY:
            return sentinel_of(self._client) is not None  # the next connection may lead elsewhere
        return refused.reason is Reason.CONNECTION

    def way(self, before: Way | None = None, refused: NotExecuted | None = None) -> Steps[Way]:
        yield from ()  # nothing to wait for
        if self._way is None:
            self._way = Way(lender_of(self._client))
        return self._way


class _InCluster:
    """The node that serves the key."""

    def __init__(self, client: Client, key: bytes) -> None:
        self._client = client
        self._key = key
        self._learned: Address | None = None

    def may_pass(self, refused: NotExecuted) -> bool:
        return refused.reason in _LOST or refused.reason is Reason.REDIRECTED

    def way(self, before: Way | None = None, refused: NotExecuted | None = None) -> Steps[Way]:
        with _nothing_sent():
            if hasattr(self._client, "initialize"):  # the asyncio one
                yield self._client.initialize()
            if refused:
                taking_over = yield from self._learn(refused, before.node if before else None)
                if taking_over:
                    return Way(self._lender(taking_over), taking_over, asking=True)
            node = (yield from self._node(self._learned)) if self._learned else None
            if node is None:
                self._learned = None
                node = self._client.get_node_from_key(self._key)
                # redis-py 7 may answer with a copy, whose connections it would never close.
                node = self._client.get_node(node_name=node.name) or node
            return Way(self._lender(node), node)

    def _learn(self, refused: NotExecuted, asked: Any) -> Steps[Any]:
        """Learn from the refusal of the node that was asked, or from other nodes, who has the key.

        Returns the node that is taking it over, if the refusal was to ask that one for once.
        """
        match server_text(refused.__cause__).split():
            case ["MOVED", _, address]:
                self._learned = self._address(asked, *address.rsplit(":", 1))
            case ["ASK", _, address]:
                return (yield from self._node(self._address(asked, *address.rsplit(":", 1))))
        if refused.reason in _LOST:
            yield from self._ask_others(asked)
        return None

    def _ask_others(self, asked: Any) -> Steps[None]:
        """Learn who has the key from other nodes than the one that was asked for it."""
        self._learned = None
        slot = self._client.keyslot(self._key)
        others = [node for node in self._client.get_nodes() if node != asked]
        for node in random.sample(others, min(len(others), _MOST_OTHERS)):
            with suppress(Exception):  # what fails here is no part of the call
                ranges = yield from exchange(self._lender(node), (b"CLUSTER", b"SLOTS"))
                for first, last, (host, port, *_), *_ in ranges:
                    if first <= slot <= last:
                        self._learned = self._address(node, (host or b"").decode(), port)
            if self._learned and self._client.get_node(*self._learned) != asked:
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

"""Which server a queue's requests go to.

A cluster client has a map of who serves which key, and repairs it when its own commands fail. Ours
do not pass through that layer; and repairing the map closes connections that other calls are using.
So what we learn about our one key is remembered here.
"""

from inspect import iscoroutinefunction
from typing import Any, Protocol

from uniqfifo._exchange import Client, Lender, exchange, lender_of, meaning_of
from uniqfifo._steps import Steps
from uniqfifo.errors import NotExecuted, QueueError, Reason
from uniqfifo.refusals import server_text
from uniqfifo.storage import encode_key

Address = tuple[str, int]

# After these another node may be the one to ask.
_LOST = {Reason.CONNECTION, Reason.READONLY, Reason.CLUSTER_DOWN, Reason.MASTER_DOWN}


class Route(Protocol):
    """Finds the server for one key."""

    def lender(self) -> Steps[Lender]:
        """Connections to the server that has the key, as far as is known."""

    def follow(self, refused: NotExecuted) -> Steps[tuple[Lender, bool] | None]:
        """Where a redirection leads, and whether to announce it with ASKING; None: nowhere else."""

    def learn(self, refused: NotExecuted) -> Steps[None]:
        """Find out who has the key after a refusal that leaves it in doubt."""


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
        self._lender: Lender | None = None

    def lender(self) -> Steps[Lender]:
        yield from ()  # nothing to wait for
        if self._lender is None:
            self._lender = lender_of(self._client)
        return self._lender

    def follow(self, refused: NotExecuted) -> Steps[None]:
        yield from ()
        raise refused

    def learn(self, refused: NotExecuted) -> Steps[None]:
        yield from ()


class _InCluster:
    """The node that serves the key."""

    def __init__(self, client: Client, key: bytes) -> None:
        self._client = client
        self._key = key
        self._learned: Address | None = None
        self._asked: Any = None  # the node that was asked last

    def lender(self) -> Steps[Lender]:
        return (yield from self._at(self._learned))

    def follow(self, refused: NotExecuted) -> Steps[tuple[Lender, bool] | None]:
        match server_text(refused.__cause__).split():
            case ["MOVED", _, address]:
                self._learned = self._address(*address.rsplit(":", 1))
                return (yield from self._at(self._learned)), False
            case ["ASK", _, address]:
                return (yield from self._at(self._address(*address.rsplit(":", 1)))), True
        return None

    def learn(self, refused: NotExecuted) -> Steps[None]:
        if refused.reason not in _LOST:
            return
        self._learned = None
        slot = self._client.keyslot(self._key)
        for node in sorted(self._client.get_nodes(), key=lambda node: node is self._asked):
            try:
                ranges = yield from exchange(self._lender(node), (b"CLUSTER", b"SLOTS"))
            except QueueError:
                continue
            for first, last, (host, port, *_), *_ in ranges:
                if first <= slot <= last:
                    self._learned = self._address(host.decode() or node.host, port)
            return

    def _at(self, address: Address | None) -> Steps[Lender]:
        client = self._client
        try:
            if hasattr(client, "initialize"):  # the asyncio one
                yield client.initialize()
            node = address and client.get_node(*address)
            if address and node is None:
                # A node that is new in the cluster, so the client's map is to be renewed after all.
                yield client.nodes_manager.initialize()
                node = client.get_node(*address)
            self._asked = node or client.get_node_from_key(self._key)
            return self._lender(self._asked)
        except Exception as error:
            raise meaning_of(error, sent=False) from error

    def _address(self, host: str, port: str | int) -> Address:
        address: Address = self._client.nodes_manager.remap_host_port(host, int(port))
        return address

    def _lender(self, node: Any) -> Lender:
        if hasattr(node, "acquire_connection"):
            return lender_of(node)
        client = self._client
        connect = getattr(client, "get_redis_connection", None) or client.get_valkey_connection
        return lender_of(connect(node))

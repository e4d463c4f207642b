"""One request on one connection borrowed from the client, past its retry layer."""

import os
import select
import socket
from collections.abc import Iterator
from inspect import Parameter, signature
from typing import Any, Protocol

from uniqfifo._steps import Steps, cancelled_once, unbroken
from uniqfifo.errors import NotExecuted, OutcomeUnknown, QueueError, Reason
from uniqfifo.refusals import is_refusal_of_the_call, reason_of, server_text, without_secrets

Client = Any  # redis.Redis, redis.asyncio.Redis, their cluster twins, or those of valkey-py
Connection = Any
Request = tuple[bytes | int, ...]

# Only Linux has the first one. Elsewhere the client library's own look at the connection has to do.
_CLOSED = getattr(select, "POLLRDHUP", 0) | select.POLLHUP | select.POLLERR | select.POLLNVAL


# What an answer of the server does not say to those who do not know it.
_HINTS = {
    Reason.REDIRECTED: "; only a client for clusters follows that, as redis+cluster:// makes one",
}


class Lender(Protocol):
    """Where a connection comes from and goes back to.

    `looks` tells whether it connects what it lends, anew if it sees that the peer is gone.
    """

    looks: bool

    def borrow(self) -> Steps[Connection]:
        """Take one out. It need not be connected."""

    def connect(self, connection: Connection) -> Any:
        """Connect it, unless it is: a step."""

    def give_back(self, connection: Connection) -> Any:
        """Put it back, connected or not: a step."""


def exchange(lender: Lender, request: Request, asking: bool = False) -> Steps[Any]:
    """Send one request, once, and return its answer in bytes.

    `asking` tells a cluster's node to serve a key that is on its way to it. The connection goes
    back in any case, and unless all went well with it, closed. Raises NotExecuted for what fails
    before the request is handed to the kernel and for refusals, else OutcomeUnknown.
    """
    sent = in_order = False
    try:
        connection = yield from lender.borrow()
        try:
            wire = yield from _ready(lender, connection)
            if asking:
                yield wire.send_packed_command(_packed((b"ASKING",)))
                yield wire.read_response()
            packed = _packed(request)
            sent = True
            yield wire.send_packed_command(packed, check_health=False)
            answer = yield wire.read_response(disable_decoding=True)
            in_order = True
            return answer
        except Exception as error:
            in_order = is_refusal_of_the_call(error)
            raise
        finally:
            try:
                if not in_order:
                    yield unbroken(connection.disconnect(True))  # asyncio's: not waiting for it
            finally:
                yield unbroken(lender.give_back(connection))
    except Exception as error:
        raise meaning_of(error, sent) from error


def _packed(request: Request) -> list[bytes]:
    # Not by the client, which may have been given another encoding than UTF-8.
    words = [word if isinstance(word, bytes) else b"%d" % word for word in request]
    lengths = [b"$%d\r\n%b\r\n" % (len(word), word) for word in words]
    return [b"*%d\r\n%b" % (len(words), b"".join(lengths))]


def meaning_of(error: Exception, sent: bool) -> QueueError:
    """What this failure of a call means. A refusal by the server settles it at any stage."""
    if reason := reason_of(error):
        hint = _HINTS.get(reason, "")
        return NotExecuted(reason, f"not executed ({reason}): {server_text(error)}{hint}")
    if not sent:
        # A cluster client says that it reached no node, and not why.
        for cause in _causes(error):
            if reason := reason_of(cause):
                return NotExecuted(reason, f"not executed ({reason}): {server_text(cause)}")
        message = f"not executed, no connection: {without_secrets(error)}"
        return NotExecuted(Reason.CONNECTION, message)
    return OutcomeUnknown(f"outcome unknown, it may have been executed once: {error}")


def _causes(error: BaseException) -> Iterator[BaseException]:
    while cause := error.__cause__ or error.__context__:
        yield cause
        error = cause


def _ready(lender: Lender, connection: Connection) -> Steps[Connection]:
    """Connect it, anew if its peer is gone, and return what speaks to the server."""
    # Client-side caching wraps the connection, and could answer in place of the server. Opening and
    # closing do concern the cache.
    wire: Connection = getattr(connection, "_conn", connection)
    # What comes unasked, as it may in RESP3, can hide from others that the connection has ended.
    if not (lender.looks and wire.protocol == 2):
        if _is_stale(wire):
            yield connection.disconnect(True)
        yield lender.connect(connection)
    if wire.health_check_interval:
        yield wire.check_health()
    return wire


def _is_stale(wire: Connection) -> bool:
    """Is this connection open, and yet not one to send on?"""
    if getattr(wire, "should_reconnect", bool)():
        return True
    # The client library looks for a closed peer too, but not for every kind of client and protocol,
    # and in asyncio only once the event loop has noticed.
    writer = getattr(wire, "_writer", None)
    opened = writer.get_extra_info("socket") if writer else getattr(wire, "_sock", None)
    if opened is None or not (writer or isinstance(opened, socket.socket)):
        return False  # not connected, or not by a socket (fakeredis)
    if opened.fileno() < 0:
        return True
    poll = select.poll()
    poll.register(opened.fileno(), select.POLLIN | _CLOSED)
    return any(events & _CLOSED for _, events in poll.poll(0))


def sentinel_of(client: Client) -> Any | None:
    """What names the server to each new connection of this client, if that is left to Sentinel."""
    return getattr(getattr(client, "connection_pool", None), "sentinel_manager", None)


def lender_of(client: Client) -> Lender:
    """Where the connections of this client, or of this node of a cluster client, come from."""
    if hasattr(client, "acquire_connection"):
        return _Node(client)
    if client.connection or getattr(client, "single_connection_client", False):
        return _Single(client)
    return _AsyncPool(client) if hasattr(client, "aclose") else _Pool(client)


class _Pool:
    """The pool of a sync client."""

    looks = True

    def __init__(self, client: Client) -> None:
        self._pool = client.connection_pool
        self.give_back = self._pool.release
        # valkey-py wants the name of a command here; redis-py warns if it is given one.
        name = signature(self._pool.get_connection).parameters.get("command_name")
        self._arguments = ("_",) if name and name.default is Parameter.empty else ()

    def borrow(self) -> Steps[Connection]:
        return (yield self._pool.get_connection(*self._arguments))

    def connect(self, connection: Connection) -> Any:
        return connection.connect()


class _AsyncPool(_Pool):
    """The pool of an asyncio client."""

    looks = False

    def borrow(self) -> Steps[Connection]:
        pool = self._pool
        # The lock is held while idle connections are re-authenticated.
        if pool.can_get_connection() and not (hasattr(pool, "_lock") and pool._lock.locked()):
            return pool.get_available_connection()
        return (yield cancelled_once(pool.get_connection(*self._arguments), undo=pool.release))

    def connect(self, connection: Connection) -> Any:
        return self._pool.ensure_connection(connection)


class _Single:
    """The one connection of a single_connection_client, and the lock around it."""

    looks = False

    def __init__(self, client: Client) -> None:
        self._client = client
        sync = getattr(client, "single_connection_lock", None)  # valkey-py's sync client has none
        self._lock = sync or getattr(client, "_single_conn_lock", None)

    def borrow(self) -> Steps[Connection]:
        if self._client.connection is None:
            yield self._client.initialize()
        if self._lock:
            yield self._lock.acquire()
        return self._client.connection

    def connect(self, connection: Connection) -> Any:
        here = os.getpid()
        if getattr(connection, "pid", here) != here:
            # After a fork two processes would read from one socket. Pools see to that themselves.
            connection.disconnect()
            connection.pid = here
        return connection.connect()

    def give_back(self, connection: Connection) -> None:
        if self._lock:
            self._lock.release()


class _Node:
    """A node of an asyncio cluster client, which keeps its connections itself."""

    looks = False

    def __init__(self, node: Any) -> None:
        self._node = node
        self.give_back = getattr(node, "release", None) or node._free.append

    def borrow(self) -> Steps[Connection]:
        yield from ()  # nothing to wait for
        return self._node.acquire_connection()

    def connect(self, connection: Connection) -> Any:
        return connection.connect()

"""One request, sent once: over the client's own connections, past its retry layer.

redis-py sends a request again when its reply comes too late, and for a dequeue that is a second id
gone. So a connection is borrowed from the client's pool and used directly. What goes wrong before
the request is handed to the kernel is `NotExecuted`, what goes wrong after it `OutcomeUnknown`,
unless the server's own answer settles it.

`call` and `call_async` are the same text twice: only the awaiting differs.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from redis import exceptions as redis_errors

from uniqfifo._calls import Call
from uniqfifo.errors import NotExecuted, OutcomeUnknown, QueueError, Reason
from uniqfifo.refusals import is_refusal_of_the_call, reason_of, server_text
from uniqfifo.scripts import Script

T = TypeVar("T")
Client = Any  # redis.Redis, redis.asyncio.Redis
Connection = Any

_FAILURES = (redis_errors.RedisError, OSError)


def call(client: Client, wanted: Call[T]) -> T:
    """Make one call and return its answer. Raises NotExecuted or OutcomeUnknown."""
    try:
        return wanted.read(_exchange(client, _request(wanted)))
    except redis_errors.NoScriptError:
        return wanted.read(_exchange(client, _request(wanted, by_text=True)))


async def call_async(client: Client, wanted: Call[T]) -> T:
    """Make one call and return its answer. Raises NotExecuted or OutcomeUnknown."""
    try:
        return wanted.read(await _exchange_async(client, _request(wanted)))
    except redis_errors.NoScriptError:
        return wanted.read(await _exchange_async(client, _request(wanted, by_text=True)))


def _request(wanted: Call[T], by_text: bool = False) -> tuple[str | bytes | int, ...]:
    # Bytes throughout, since a client may have been given another encoding than UTF-8.
    key = wanted.key.encode("utf-8", "surrogateescape")
    if not isinstance(wanted.send, Script):
        return (wanted.send, key, *wanted.arguments)
    if by_text:
        return ("EVAL", wanted.send.text.encode(), 1, key, *wanted.arguments)
    return ("EVALSHA", wanted.send.sha, 1, key, *wanted.arguments)


def _exchange(client: Client, request: tuple[str | bytes | int, ...]) -> Any:
    sent = False
    try:
        with _borrowed(client) as connection:
            connection.check_health()
            packed = connection.pack_command(*request)
            sent = True
            connection.send_packed_command(packed, check_health=False)
            return connection.read_response(disable_decoding=True)
    except redis_errors.NoScriptError:
        raise
    except _FAILURES as error:
        raise _typed(error, sent) from error


async def _exchange_async(client: Client, request: tuple[str | bytes | int, ...]) -> Any:
    sent = False
    try:
        async with _borrowed_async(client) as connection:
            await connection.check_health()
            packed = connection.pack_command(*request)
            sent = True
            await connection.send_packed_command(packed, check_health=False)
            return await connection.read_response(disable_decoding=True)
    except redis_errors.NoScriptError:
        raise
    except _FAILURES as error:
        raise _typed(error, sent) from error


@contextmanager
def _borrowed(client: Client) -> Iterator[Connection]:
    """A connected connection of the client's. Unless all went well with it, it is closed."""
    own = client.connection  # a single_connection_client has one, and a lock around it
    connection = own or client.connection_pool.get_connection()
    if own:
        client.single_connection_lock.acquire()
    try:
        if own:
            connection.connect()
        yield connection
    except BaseException as error:
        if not is_refusal_of_the_call(error):
            connection.disconnect()
        raise
    finally:
        if own:
            client.single_connection_lock.release()
        else:
            client.connection_pool.release(connection)


@asynccontextmanager
async def _borrowed_async(client: Client) -> AsyncIterator[Connection]:
    """A connected connection of the client's. Unless all went well with it, it is closed."""
    await client.initialize()
    own = client.connection
    connection = own or await client.connection_pool.get_connection()
    if own:
        await client._single_conn_lock.acquire()
    try:
        if own:
            await connection.connect()
        yield connection
    except BaseException as error:
        if not is_refusal_of_the_call(error):
            await connection.disconnect(nowait=True)
        raise
    finally:
        if own:
            client._single_conn_lock.release()
        else:
            await client.connection_pool.release(connection)


def _typed(error: Exception, sent: bool) -> QueueError:
    """What this failure means. A refusal that the server sent settles it at any stage."""
    reason = reason_of(error)
    if reason:
        return NotExecuted(reason, f"not executed ({reason}): {server_text(error)}")
    if not sent:
        return NotExecuted(Reason.CONNECTION, f"not executed, no connection: {error}")
    return OutcomeUnknown(f"outcome unknown, it may have been executed once: {error}")

"""A call, from its request to its answer: sent once, wherever its key is.

redis-py sends a request again when its reply comes too late, and for a dequeue that is a second id
gone. Here a call is tried again only after a try that certainly was not executed: no connection
came about, or a server said so.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from uniqfifo._calls import Call
from uniqfifo._exchange import Request, exchange
from uniqfifo._route import Route, Way
from uniqfifo._steps import Steps, run, run_async
from uniqfifo.errors import NotExecuted, Reason
from uniqfifo.scripts import Script
from uniqfifo.storage import encode_key

T = TypeVar("T")

# Seconds before each try. Two follow the first at once: a dropped connection needs one, and a key
# on the move may be with the second node we are sent to. The rest wait for a restart or a failover.
_PAUSES = (0.0, 0.0, 0.0, 0.05, 0.1, 0.2, 0.2, 0.2, 0.2)
_PATIENCE = 1.0  # seconds after its first refusal in which a call may be tried again


def call(route: Route, wanted: Call[T]) -> T:
    """Make one call over a sync client and return its answer.

    Raises NotExecuted or OutcomeUnknown.
    """
    return run(_answer(route, wanted, time.sleep))


async def call_async(route: Route, wanted: Call[T]) -> T:
    """Make one call over an asyncio client and return its answer.

    Raises NotExecuted or OutcomeUnknown. When cancelled it gives the connection back first.
    """
    return await run_async(_answer(route, wanted, asyncio.sleep))


def _answer(route: Route, wanted: Call[T], pause: Callable[[float], Any]) -> Steps[T]:
    began = first_refused = time.monotonic()
    way: Way | None = None
    refused: NotExecuted | None = None
    for wait in _PAUSES:
        if refused and time.monotonic() + wait > first_refused + _PATIENCE:
            break
        if wait:
            yield pause(wait)
        try:
            found = yield from route.way(way, refused)
            # Who kept us waiting for so long, say by not answering at all, is not asked again.
            if way and way.node == found.node and first_refused > began + _PATIENCE:
                break
            way = found
            return wanted.read((yield from _send(wanted, way)))
        except NotExecuted as error:
            if not route.may_pass(error):
                raise
            if refused is None:
                first_refused = time.monotonic()
            refused = error
    assert refused
    raise refused


def _send(wanted: Call[T], way: Way) -> Steps[Any]:
    """Send a script by its hash, and to a server that does not know it, which says so, by text."""
    try:
        return (yield from exchange(way.lender, _request(wanted), way.asking))
    except NotExecuted as error:
        if error.reason is not Reason.NO_SCRIPT:
            raise
        return (yield from exchange(way.lender, _request(wanted, by_text=True), way.asking))


def _request(wanted: Call[T], by_text: bool = False) -> Request:
    key = encode_key(wanted.key)
    if not isinstance(wanted.send, Script):
        return (wanted.send.encode(), key, *wanted.arguments)
    if by_text:
        return (b"EVAL", wanted.send.text.encode(), 1, key, *wanted.arguments)
    return (b"EVALSHA", wanted.send.sha.encode(), 1, key, *wanted.arguments)

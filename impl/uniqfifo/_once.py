"""A call, from its request to its answer: sent once, wherever its key is.

redis-py sends a request again when its reply comes too late, and for a dequeue that is a second id
gone. Here a request goes out again only after a server has said that it did not execute it.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Any, TypeVar

from uniqfifo._calls import Call
from uniqfifo._exchange import Request, exchange
from uniqfifo._route import Route
from uniqfifo._steps import Steps, run, run_async
from uniqfifo.errors import NotExecuted, Reason
from uniqfifo.scripts import Script
from uniqfifo.storage import encode_key

T = TypeVar("T")

_MOST_TRIES = 16
_AT_ONCE, _PAUSE = 4, 0.05  # so many tries without a pause, then seconds: nodes may disagree


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
    request = _request(wanted)
    way = yield from route.way()
    for tried in range(1, _MOST_TRIES + 1):
        try:
            return wanted.read((yield from exchange(way.lender, request, way.asking)))
        except NotExecuted as refused:
            if tried == _MOST_TRIES:
                raise
            if refused.reason is Reason.NO_SCRIPT:
                request = _request(wanted, by_text=True)
            else:
                way = yield from route.detour(refused, way)
        if tried > _AT_ONCE:
            yield pause(_PAUSE)
    raise AssertionError("the last try returns or raises")


def _request(wanted: Call[T], by_text: bool = False) -> Request:
    key = encode_key(wanted.key)
    if not isinstance(wanted.send, Script):
        return (wanted.send.encode(), key, *wanted.arguments)
    if by_text:
        return (b"EVAL", wanted.send.text.encode(), 1, key, *wanted.arguments)
    return (b"EVALSHA", wanted.send.sha.encode(), 1, key, *wanted.arguments)

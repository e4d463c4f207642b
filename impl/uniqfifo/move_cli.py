"""`uniqfifo migrate` and `rollback`: the three keys of a deployment, moved."""

import json
import re
import sys
from collections.abc import Callable
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from uniqfifo._calls import Calls
from uniqfifo._console import client_at, json_option, status
from uniqfifo._exchange import Client
from uniqfifo._facts import replica_of
from uniqfifo._once import call
from uniqfifo._queue import UniqueQueue
from uniqfifo._route import route_to
from uniqfifo.errors import NotExecuted, OutcomeUnknown, QueueError, Reason
from uniqfifo.storage import QueueType, Storage, printable

# Seconds, unless the URL says otherwise. A million ids take some, in which the server is silent.
_LONG = 600.0

# With these, no server has been spoken to.
_NO_SERVER = {Reason.CONNECTION, Reason.AUTHENTICATION, Reason.TOO_MANY_CLIENTS}


@click.command()
@click.argument("url")
@click.argument("prefix")
@json_option
def migrate(url: str, prefix: str, as_json: bool) -> None:
    """Turn each LIST of PREFIX into a ZSET in place.

    As start() of zset does: the order is kept, and the first copy of each id. A key that is absent
    or a ZSET is left as it is, so running it again is harmless. What is refused is untouched.
    A million ids take some seconds, in which the server answers nobody else.

    Stop every host that uses the keys as LISTs first. The way back is rollback.

    All three keys are tried. Exits 0 if all are done, 1 if one was refused or its outcome is
    unknown, 2 without a server, or with a replica.
    """
    _move(url, prefix, as_json, Storage.ZSET, UniqueQueue.migrate)


@click.command()
@click.argument("url")
@click.argument("prefix")
@json_option
def rollback(url: str, prefix: str, as_json: bool) -> None:
    """Turn each ZSET of PREFIX back into a LIST in place.

    The ids stay in the order in which they would have left. A key that is absent or a LIST is left
    as it is, so running it again is harmless. What is refused is untouched. A million ids take some
    seconds, in which the server answers nobody else.

    Stop every host that uses the keys as ZSETs first. One that still runs gets wrong-type errors
    from then on, and loses nothing; but one that starts migrates the keys again.

    All three keys are tried. Exits 0 if all are done, 1 if one was refused or its outcome is
    unknown, 2 without a server, or with a replica.
    """
    _move(url, prefix, as_json, Storage.LIST, UniqueQueue.roll_back)


def _move(
    url: str,
    prefix: str,
    as_json: bool,
    storage: Storage,
    work: Callable[[UniqueQueue], int],
) -> None:
    with client_at(url, prefix) as client:  # if nobody answers, that is told in seconds
        _greet(client, QueueType.WORKFLOW.key(prefix))
    patient = {} if re.search(r"[?&]socket_timeout=", url) else {"socket_timeout": _LONG}
    with client_at(url, prefix, **patient) as client:
        outcomes: dict[str, int | QueueError] = {}
        for queue in QueueType:
            key = queue.key(prefix)
            with status(f"moving {printable(key)}", as_json):
                outcomes[key] = _tried(work, UniqueQueue(client, key, storage))
    done = not any(isinstance(outcome, QueueError) for outcome in outcomes.values())
    if as_json:
        rows = [_moved_as_json(key, outcome) for key, outcome in outcomes.items()]
        click.echo(json.dumps({"prefix": prefix, "done": done, "keys": rows}, indent=2))
    else:
        console = Console(highlight=False)
        for key, outcome in outcomes.items():
            console.print(Text(f"{printable(key)}: ") + _moved(outcome, storage.key_type.upper()))
    sys.exit(0 if done else 1)


def _greet(client: Client, key: str) -> None:
    """Raise if no server answers, or a replica; what one refuses is told for each key later."""
    try:
        call(route_to(client, key, awaited=False), Calls(key, Storage.LIST).type())
    except NotExecuted as refused:
        if refused.reason in _NO_SERVER:
            raise
    # One that lags may have nothing to move, and so nothing to refuse.
    if primary := replica_of(client, key):
        raise click.ClickException(f"this is a replica: move the keys at its primary, {primary}")


def _tried(work: Callable[[UniqueQueue], int], queue: UniqueQueue) -> int | QueueError:
    try:
        return work(queue)
    except QueueError as error:
        return error


def _moved(outcome: int | QueueError, into: str) -> Text:
    match outcome:
        case OutcomeUnknown():
            return Text(f"unknown, so run it again: {printable(str(outcome))}", "yellow")
        case QueueError():
            return Text(f"refused, untouched: {printable(str(outcome))}", "red")
        case 0:
            return Text(f"nothing to move: it is absent, or a {into} already")
        case _:
            return Text(f"{outcome:,} id{'s' * (outcome != 1)} moved, now a {into}", "green")


def _moved_as_json(key: str, outcome: int | QueueError) -> dict[str, Any]:
    if isinstance(outcome, int):
        return {"key": key, "outcome": "done", "moved": outcome, "message": None}
    kind = "unknown" if isinstance(outcome, OutcomeUnknown) else "refused"
    return {"key": key, "outcome": kind, "moved": None, "message": str(outcome)}

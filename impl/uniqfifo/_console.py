"""What the operator's commands share: a client, and a sign of life."""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import click
from rich.console import Console
from rich.text import Text

from uniqfifo._exchange import Client
from uniqfifo.connect import close, connect
from uniqfifo.errors import QueueError

json_option = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")


@contextmanager
def client_at(url: str, prefix: str, **options: Any) -> Iterator[Client]:
    """A client for this URL. What comes of a wrong one, or of no server, is one line."""
    if not url or not prefix:  # a variable that was not set
        raise click.UsageError("the URL or the prefix is empty")
    try:
        client = connect(url, **options)
        try:
            yield client
        finally:
            close(client)
    except (QueueError, OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def status(what: str, as_json: bool) -> Any:
    """A sign of life on a terminal; nothing in a pipe, and nothing beside JSON."""
    console = Console(stderr=True)
    return console.status(Text(what)) if console.is_terminal and not as_json else nullcontext()

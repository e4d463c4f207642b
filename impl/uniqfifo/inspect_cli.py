"""`uniqfifo inspect`: what lies at the three keys of a deployment."""

import json
import sys
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from uniqfifo._console import client_at, json_option, status
from uniqfifo._facts import Facts, look
from uniqfifo._findings import is_known, notes, problems, usable_by
from uniqfifo.storage import QueueType, Storage, decode_id, printable

_LONGEST_HEAD = 18  # characters


@click.command("inspect")
@click.argument("url")
@click.argument("prefix")
@json_option
def inspect_command(url: str, prefix: str, as_json: bool) -> None:
    """Say what lies at the three keys of PREFIX, on the server at URL.

    Reads only: a replica will do, and a user who may only read. A LIST is read in pages, to count
    its copies. Exits 0 if one storage can use all three keys as they are, 1 if something is wrong
    (mixed types, a type that is no queue's, a time to live), 2 without a server, 3 if the server
    does not tell whether something is wrong.
    """
    with client_at(url, prefix) as client, status("reading", as_json):
        keys = [look(client, queue.key(prefix)) for queue in QueueType]
    wrong = [*problems(keys)]
    if as_json:
        result = {
            "prefix": prefix,
            "usable_by": usable_by(keys) if is_known(keys) else None,
            "problems": wrong,
            "notes": [*notes(keys)],
            "keys": [_as_json(facts) for facts in keys],
        }
        click.echo(json.dumps(result, indent=2))
    else:
        _show(keys, wrong)
    sys.exit(1 if wrong else 0 if is_known(keys) else 3)


def _show(keys: Sequence[Facts], wrong: Sequence[str]) -> None:
    console = Console(highlight=False)
    table = Table("")
    for facts in keys:
        table.add_column(Text(printable(facts.key)), overflow="fold")
    for heading, cells in _rows(keys):
        table.add_row(heading, *cells)
    console.print(table)
    for sentence in wrong:
        console.print(Text(f"Wrong: {printable(sentence)}.", "red"))
    for sentence in notes(keys):
        console.print(Text(f"Note: {printable(sentence)}.", "yellow"))
    if is_known(keys) and not wrong:
        storages = _storages(usable_by(keys))
        console.print(Text(f"All three keys can be used as they are by: {storages}.", "green"))


def _rows(keys: Sequence[Facts]) -> Iterator[tuple[str, list[Text]]]:
    """One fact each, for every key. A fact that none of them has is left out."""
    for heading, (name, shown) in _ROWS.items():
        cells = [_cell(facts, name, shown) for facts in keys]
        if any(cell.plain != "-" for cell in cells):
            yield heading, cells


def _cell(facts: Facts, name: str, shown: Callable[[Facts], str]) -> Text:
    if name in facts.unknown:
        return Text("unknown", "yellow")
    return Text("-" if getattr(facts, name) is None else shown(facts))


def _storages(storages: Sequence[Storage]) -> str:
    return "any storage" if len(storages) == len(Storage) else ", ".join(storages) or "none"


def _scores(facts: Facts) -> str:
    migrated, clocked = facts.migrated or 0, facts.clocked or 0
    other = max(0, (facts.pending or 0) - migrated - clocked)
    counts = {"migrated": migrated, "by clock": clocked, "other": other}
    return "\n".join(f"{count:,} {name}" for name, count in counts.items() if count) or "-"


def _short(id: bytes) -> str:
    text = repr(decode_id(id))
    return text if len(text) <= _LONGEST_HEAD else f"{text[: _LONGEST_HEAD - 1]}…"


_TYPES = {"none": "absent", "list": "LIST", "zset": "ZSET"}

_ROWS: Mapping[str, tuple[str, Callable[[Facts], str]]] = {
    "type": ("type", lambda facts: _TYPES.get(str(facts.type), str(facts.type))),
    "usable by": ("type", lambda facts: _storages(facts.usable_by)),
    "pending ids": ("pending", lambda facts: f"{facts.pending:,}"),
    "further copies": ("copies", lambda facts: f"{facts.copies:,}"),
    "time to live": ("ttl", lambda facts: f"{(facts.ttl or 0) / 1000:,.0f} s"),
    "head": ("head", lambda facts: _short(facts.head or b"")),
    "scores": ("migrated", _scores),
    "highest score": ("top", lambda facts: str(facts.top)),
    "ahead of clock": ("ahead", lambda facts: f"{facts.ahead:,} µs" if facts.ahead else "no"),
    "memory, bytes": ("memory", lambda facts: f"{facts.memory:,}"),
}


def _as_json(facts: Facts) -> dict[str, Any]:
    return {
        "key": facts.key,
        "replica_of": facts.replica_of,
        "type": facts.type,
        "usable_by": facts.usable_by if facts.type else None,
        "pending": facts.pending,
        "copies": facts.copies,
        "ttl_ms": facts.ttl,
        "head": None if facts.head is None else _id(facts.head),
        "migrated": facts.migrated,
        "clocked": facts.clocked,
        "top": _number(facts.top),
        "ahead_us": _number(facts.ahead),
        "memory": facts.memory,
        "unknown": facts.unknown,
    }


def _id(wire: bytes) -> str | dict[str, str]:
    """A string, or what the stdio protocol makes of an id that is none."""
    try:
        return wire.decode()
    except UnicodeDecodeError:
        return {"b64": b64encode(wire).decode()}


def _number(score: float | None) -> float | str | None:
    """JSON has no infinity, which a foreign writer may have left."""
    return str(score) if score in (float("inf"), float("-inf")) else score

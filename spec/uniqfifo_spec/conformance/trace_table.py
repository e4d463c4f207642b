"""Traces, verdicts and the matrix as tables for people, 80 columns wide."""

from collections.abc import Sequence

from rich.table import Table

from uniqfifo_spec.commands import Command, Error
from uniqfifo_spec.designs import Answer, Atomic, Keys
from uniqfifo_spec.explore import PROPERTIES, Report, Row, Trace
from uniqfifo_spec.explore import matrix as designs
from uniqfifo_spec.explore.configuration import members, shown
from uniqfifo_spec.explore.events import End
from uniqfifo_spec.keyspace import Value, ZSet, kind

COLOURS = {"PROVED": "green", "REFUTED": "red", "UNDETERMINED": "yellow"}

HEADINGS = {
    "linearizable": "lin.\nfifo",
    "linearizable-to-bag": "lin.\nbag",
    "unique": "unique",
    "nothing-lost": "nothing\nlost",
    "fifo": "fifo",
    "delivered-once": "deliv.\nonce",
    "quiet": "quiet",
    "never-wedged": "never\nwedged",
}


def matrix_table(rows: Sequence[designs.Row]) -> Table:
    """A row per pair of designs: the fewest steps that break each property, and what it takes."""
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, header_style="bold")
    table.add_column("designs", no_wrap=True, vertical="bottom")
    for name in PROPERTIES:
        table.add_column(HEADINGS[name], no_wrap=True, vertical="bottom")
    for row in rows:
        table.add_row("+".join(row.designs), *(_cell(row, name) for name in PROPERTIES))
    return table


def _cell(row: designs.Row, name: str) -> str:
    if name in row.undetermined:
        return "[yellow]?[/]"
    if name not in row.broken:
        return "[green]holds[/]"
    what, steps = next(iter(row.broken[name].items()))
    return f"[red]{steps}[/]" if what == designs.ALWAYS else f"[yellow]{steps} {what}[/]"


def verdict_table(report: Report) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=False)
    steps = report.steps()
    for name, verdict in report.verdicts.items():
        outcome = f"[{COLOURS[verdict.outcome]}]{verdict.outcome}[/]"
        if verdict.outcome == "UNDETERMINED":
            more = verdict.reason.partition(":")[0]
        else:
            more = _in_steps(steps[name]) if name in steps else ""
        table.add_row(name, outcome, more)
    return table


def trace_table(trace: Trace) -> Table:
    """A column per client, a row per step, and beside it what the keys hold afterwards."""
    clients = trace.configuration.clients
    table = Table(padding=(0, 1, 0, 0), pad_edge=False, box=None, header_style="bold")
    table.add_column("")
    for number, design in enumerate(clients, start=1):
        table.add_column(f"{number}: {design.name}")
    if trace.aftermath:
        table.add_column(f"newcomer: {trace.aftermath[0].design}")
    table.add_column("key")
    width = len(clients) + bool(trace.aftermath)
    table.add_row("0", *[""] * width, _keys_text(trace.initial))
    for number, row in enumerate((*trace.rows, *trace.aftermath), start=1):
        cells = [""] * width
        cells[row.client] = row_text(row)
        table.add_row(str(number), *cells, _keys_text(row.keys))
    return table


def row_text(row: Row) -> str:
    """One step: the call if it begins, what is sent, what comes back, the answer if it ends."""
    lines = [f"{row.operation}:"] if row.begins else []
    if row.command is not None:
        clock = f" (clock {row.clock})" if row.clock in ("same", "earlier") else ""
        reply = "" if isinstance(row.command, Atomic) else f" → {_reply_text(row.reply)}"
        lines.append(f"{_command_text(row.command)}{reply}{clock}")
    if row.fault:
        lines.append("crashes" if row.fault == "crash" else "reply is lost")
    elif row.end is not End.RUNNING:
        lines.append(f"= {answer_text(row.operation.verb, row.answer)}")
    return "\n".join(lines)


def answer_text(verb: str, answer: Answer) -> str:
    match answer:
        case Error(code):
            return f"error {code}"
        case bytes():
            return shown(answer)
        case bool():
            return "added" if answer else "already pending"
        case _:
            return "nothing" if verb == "dequeue" else "done"


def _command_text(command: Command) -> str:
    if isinstance(command, Atomic):
        return "one script"
    name, *arguments = command.wire("")
    return " ".join([name, *(_reply_text(part) for part in arguments if part != "")])


def _reply_text(reply: object) -> str:
    match reply:
        case bytes():
            return shown(reply)
        case None:
            return "nil"
        case Error(code):
            return code
        case tuple():
            return "[" + " ".join(map(_reply_text, reply)) + "]"
        case _:
            return str(reply)


def _keys_text(keys: Keys) -> str:
    return "\n".join(_value_text(value) for value in keys if value is not None) or "-"


def _value_text(value: Value) -> str:
    if isinstance(value, ZSet):
        return f"zset {_entries_text(value)}"
    return " ".join([kind(value), *map(shown, members(value))])


def _entries_text(value: ZSet) -> str:
    """Ids in leaving order, with `=` between those that share a score."""
    text = ""
    last: object = None
    for score, id in value.entries:
        text += (" = " if score == last else " ") * bool(text) + shown(id)
        last = score
    return text


def _in_steps(count: int) -> str:
    return f"in {count} step{'s' * (count != 1)}"

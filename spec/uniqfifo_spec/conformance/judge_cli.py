"""`uniqfifo judge`: can a queue have given these answers to these calls?"""

import json
import sys
from pathlib import Path
from typing import Any, Literal

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from uniqfifo.storage import decode_id, printable
from uniqfifo_spec.history import Call, History, Judgement, Outcome, Verdict, judge, judge_both
from uniqfifo_spec.history.recording import BadRecord, read

_COLOURS = {
    Verdict.EXPLAINABLE: "green",
    Verdict.UNEXPLAINABLE: "red",
    Verdict.UNDECIDED: "yellow",
}


@click.command(name="judge")
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option(
    "--model",
    type=click.Choice(["fifo", "bag", "both"]),
    default="both",
    show_default=True,
    help="bag lets a dequeue take any pending id.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def judge_command(file: Path, model: Literal["fifo", "bag", "both"], as_json: bool) -> None:
    """Judge a recorded concurrent history, queue by queue.

    FILE is NDJSON, as PORTING.md says. Exits 0 if everything can be explained, 1 if something
    cannot, 2 if the file is no history, 3 if a verdict was not reached within the bounds.
    """
    try:
        with file.open("rb") as lines:  # bytes are split at LF only
            histories = read(lines)
    except BadRecord as problem:
        raise click.ClickException(f"{file}: {problem}") from None
    judgements = [
        (queue, history, each)
        for queue, history in histories.items()
        for each in (judge_both(history) if model == "both" else (judge(history, model),))
    ]
    if as_json:
        rows = [_as_json(queue, judgement) for queue, _, judgement in judgements]
        click.echo(json.dumps({"judgements": rows}, indent=2))
    else:
        console = Console(highlight=False)
        for queue, history, judgement in judgements:
            _show(console, queue, history, judgement)
    verdicts = {judgement.verdict for _, _, judgement in judgements}
    sys.exit(1 if Verdict.UNEXPLAINABLE in verdicts else 3 if Verdict.UNDECIDED in verdicts else 0)


def _show(console: Console, queue: str, history: History, judgement: Judgement) -> None:
    colour, verdict = _COLOURS[judgement.verdict], judgement.verdict.value
    console.print(
        f"{escape(printable(queue))} as a {judgement.model}: [{colour}]{verdict}[/] "
        f"({len(history.calls):,} calls, {judgement.configurations:,} configurations)"
    )
    point = judgement.point
    if point is None:
        return
    if not point.calls:
        console.print("Every answer can be explained, but not what was pending at the end.")
    table = Table(
        "call", "from", "to", "by", "answer", title="The first point that nothing explains"
    )
    for place in (*point.calls, *point.open):
        call = history.calls[place]
        ended = "open" if place in point.open else str(call.ret)
        cells = (_shown(call), str(call.call), ended, printable(call.client), _answered(call))
        table.add_row(*map(escape, cells))
    console.print(table)


def _shown(call: Call) -> str:
    return call.op if call.id is None else f"{call.op} {decode_id(call.id)!r}"


def _answered(call: Call) -> str:
    if call.outcome is Outcome.ANSWERED:
        return repr(decode_id(call.answer) if isinstance(call.answer, bytes) else call.answer)
    return str(call.outcome.value)


def _as_json(queue: str, judgement: Judgement) -> dict[str, Any]:
    point = judgement.point
    return {
        "queue": queue,
        "model": judgement.model,
        "verdict": judgement.verdict.value,
        "configurations": judgement.configurations,
        # Places count the calls of this queue in the order of the file, from 0.
        "point": None if point is None else {"calls": point.calls, "open": point.open},
    }

"""`uniqfifo vectors`: writes the test vectors, for ports that check themselves."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click
from rich.console import Console

from uniqfifo_spec.mutants import MUTANTS
from uniqfifo_spec.vectors import TOPICS, generate, render


@click.command()
@click.argument("directory", type=click.Path(file_okay=False, path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def vectors(directory: Path, as_json: bool) -> None:
    """Write the test vectors, and the schema of their files, to DIRECTORY.

    They are generated from the model, which takes a few seconds. PORTING.md explains them.
    """
    console = Console(stderr=True)
    with _writing_to(directory):
        directory.mkdir(parents=True, exist_ok=True)
    with console.status("generating") if console.is_terminal and not as_json else nullcontext():
        made = generate()
    with _writing_to(directory):
        for name, text in render(made).items():
            # Bytes, so that no platform makes other line ends of ours.
            (directory / name).write_bytes(text.encode())
    counts = {topic: sum(vector.topic == topic for vector in made) for topic in TOPICS}
    killed = {name for vector in made for name in vector.kills}
    if as_json:
        files = {f"{topic}.json": count for topic, count in counts.items()}
        result = {"directory": str(directory), "vectors": len(made), "files": files}
        kills = {"mutants": len(MUTANTS), "killed": len(killed)}
        click.echo(json.dumps({**result, **kills}, indent=2))
        return
    for topic, count in counts.items():
        click.echo(f"{count:5}  {topic}.json")
    click.echo(
        f"{len(made)} vectors in {directory}; they tell {len(killed)} of {len(MUTANTS)} "
        "wrong implementations from a right one"
    )


@contextmanager
def _writing_to(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise click.ClickException(f"cannot write to {directory}: {error.strerror}") from None

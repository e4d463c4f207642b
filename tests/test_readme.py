"""What the README shows is what happens."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_cli import uniqfifo
from uniqfifo_spec.conformance.spawn import Server

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
URL = "redis://127.0.0.1:6379/0"
MOVES = ("inspect", "migrate", "rollback")
PROGRAMS = re.findall(r"^```python\n(.*?)^```", README, re.MULTILINE | re.DOTALL)


@pytest.mark.servers("redis-7.0", "valkey-9.1")
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_program_runs(program: str, server: Server) -> None:
    assert URL in program
    program = program.replace(URL, server.url)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_there_are_programs() -> None:
    assert len(PROGRAMS) == 3


def test_the_commands_are_those_that_the_project_has() -> None:
    commands = re.findall(r"^\$ (.+)$", README, re.MULTILINE)
    assert commands == [
        "pip install '.[check]' && uniqfifo check",
        "pip install tox && tox",
        "pip install uniqfifo",
        *(f"uniqfifo {command} {URL} app" for command in MOVES),
        "uniqfifo explore",
        "uniqfifo explore legacy+list --property nothing-lost",
    ]


SHOWN = re.findall(
    r"^```console\n\$ uniqfifo (.+)\n((?:(?!```|\$ ).*\n)+)```", README, re.MULTILINE
)


def test_what_is_shown_is_what_is_printed() -> None:
    ((arguments, text),) = SHOWN
    done = uniqfifo(*arguments.split())
    assert (done.returncode, done.stderr) == (1, "")
    assert [line.rstrip() for line in done.stdout.splitlines()] == text.splitlines()


@pytest.mark.servers("redis-7.0", "valkey-9.1")
def test_the_way_there_and_back_is_as_it_says(server: Server, prefix: str) -> None:
    with server.client() as client:
        client.rpush(f"{prefix}-events", "b", "a")
        for command, kind in zip(MOVES, (b"list", b"zset", b"list"), strict=True):
            assert uniqfifo(command, server.url, prefix).returncode == 0
            assert client.type(f"{prefix}-events") == kind
        assert client.lrange(f"{prefix}-events", 0, -1) == [b"b", b"a"]


def test_every_file_that_it_names_is_there() -> None:
    for name in re.findall(r"^\| `([^`]+)` \|", README, re.MULTILINE):
        assert (ROOT / name).exists() or name in ("zset", "list"), name

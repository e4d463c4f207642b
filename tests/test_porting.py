"""What PORTING.md and the ports' README show is what happens."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import example_ports
from tests.example_ports import FOLDER, ROOT
from uniqfifo_spec.clauses import CLAUSES

pytestmark = pytest.mark.once

PORTING = (ROOT / "spec" / "PORTING.md").read_text("utf-8")
README = (FOLDER / "README.md").read_text("utf-8")

# Each command of PORTING.md with what it prints there; what needs a network is not run here.
SHOWN = {
    command: printed
    for block in re.findall(r"^```console\n(.*?)^```", PORTING, re.MULTILINE | re.DOTALL)
    for command, printed in re.findall(r"^\$ (.*)\n((?:[^$].*\n)*)", block, re.MULTILINE)
}
NETWORK = {"pip install '.[check,server]'", "npm ci --prefix spec/ports/node"}
REFUSED = ("-e 0'", "port_nonatomic.mjs'")  # how the commands end that exit with 1
IN_README = re.findall(r"`(uniqfifo check .*?--exec '(\w+) .*?)` \|$", README, re.MULTILINE)


def run(command: str) -> subprocess.CompletedProcess[str]:
    """Run a command as a reader would, at the root of a checkout where `uniqfifo` is on PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env={**os.environ, "PATH": path},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def shortened(command: str) -> str:
    """A check of all storages takes a while: here it is one of one."""
    return command.replace("--spawn --exec", "--spawn --storage list --exec")


@pytest.mark.parametrize("port", ["node"], indirect=True)
@pytest.mark.parametrize("command", sorted({*map(shortened, {*SHOWN} - NETWORK)}))
def test_a_command_of_the_guide(port: str, command: str) -> None:
    done = run(command)
    assert done.returncode == (1 if command.endswith(REFUSED) else 0), done.stdout
    assert SHOWN.get(command, "") in done.stdout


@pytest.mark.parametrize(  # but Node's, which the guide has, too
    ("command", "port"), [case for case in IN_README if case[1] != "node"], indirect=["port"]
)
def test_a_command_of_the_readme(port: str, command: str) -> None:
    done = run(shortened(command))
    assert done.returncode == 0, done.stdout
    assert "list: conforms" in done.stdout


def test_the_readme_has_every_port() -> None:
    assert [port for _, port in IN_README] == list(example_ports.PORTS)


def test_the_guide_shows_the_commands_and_the_code_that_there_are() -> None:
    assert len(SHOWN) == 7 and {*SHOWN} > NETWORK
    port = example_ports.file("node").read_text("utf-8")
    shown = re.findall(r"^```js\n(.*?)^```", PORTING, re.MULTILINE | re.DOTALL)
    assert len(shown) == 5
    for code in shown:
        assert code in port


def test_the_guide_names_every_fault_of_the_protocol() -> None:
    sources = (ROOT / "spec" / "uniqfifo_spec" / "conformance").glob("*.py")
    text = "".join(path.read_text("utf-8") for path in sources)
    raised = re.findall(r'ProtocolError\(\s*"([a-z-]+)"', text)
    assert {*raised} > {"hangs", "dies", "not-json"}
    assert [fault for fault in {*raised} if f"`{fault}`" not in PORTING] == []


def test_the_guide_names_files_and_clauses_that_there_are() -> None:
    for name in re.findall(r"\]\(([\w./]+)\)", PORTING):
        assert (ROOT / "spec" / name).exists(), name
    named = re.findall(r"\b(?!UTF)[A-Z]{3}-\d+\b", PORTING)
    assert [clause for clause in named if clause not in CLAUSES] == []

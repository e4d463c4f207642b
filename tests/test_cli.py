"""What a person at the command line sees."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests import servers
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once


def uniqfifo(*arguments: str, path: str | None = None) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user does, in a terminal of 80 columns."""
    command = [sys.executable, "-c", "from uniqfifo.cli import main; main()", *arguments]
    environment = {**os.environ, "COLUMNS": "80", **({"PATH": path} if path is not None else {})}
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


def test_check_on_the_embedded_server() -> None:
    done = uniqfifo("check")
    assert done.returncode == 0, done.stderr
    assert "ENQ-1" in done.stdout and "An absent id is added at the tail" in done.stdout
    assert "zset-strict: conforms (3,851 transitions, " in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert done.stderr == ""


def test_check_as_json_and_as_a_page(tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    done = uniqfifo("check", "--storage", "list", "--json", "--report", str(page))
    result = json.loads(done.stdout)
    assert result["conforms"] is True
    (storage,) = result["storages"]
    assert (storage["storage"], storage["transitions"]) == ("list", 801)
    assert {"clause", "title", "cases", "failures", "undecided"} == set(storage["clauses"][0])
    assert "An absent id is added at the tail" in page.read_text("utf-8")


@pytest.mark.servers("valkey-8.1")
def test_check_at_a_url(server: Server) -> None:
    done = uniqfifo("check", server.url, "--storage", "zset-strict")
    assert (done.returncode, done.stderr) == (0, "")
    assert server.client().keys("{uniqfifo-check}-*") == []


@pytest.mark.servers("redis-5.0")
def test_check_on_a_private_server(server_name: str) -> None:
    binary = servers.binary(server_name)
    if binary is None:
        pytest.skip(servers.why_missing(server_name))
    done = uniqfifo("check", "--spawn", str(binary))
    assert (done.returncode, done.stderr) == (0, "")
    # Twice: with Redis's compact encodings, and without.
    assert "zset: conforms (2,572 transitions, " in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "nonsense"], "Redis URL must specify"),
        (["check", "redis://127.0.0.1:1"], "127.0.0.1:1"),
        (["check", "redis://127.0.0.1:notaport"], "the port in the URL is no number"),
        (["check", "redis://127.0.0.1/0?colour=red"], "does not know"),
        (["check", ""], "is empty"),
        (["check", "--spawn", "--exec", ""], "is empty"),
        (["check", "--exec", "true"], "give a URL or --spawn"),
        (["check", "--lose-answers"], "give a URL or --spawn"),
        (["check", "--failures", "/no/such/list"], "is not there"),
        (["check", "--report", "/no/such/folder/report.html"], "no folder"),
        (["explore", "--property", "fifo"], "name the designs"),
        (["check", "--spawn", "/bin/true"], "/bin/true does not come up"),
        (["check", "--spawn", "/no/such/binary"], "cannot run /no/such/binary"),
        (["check", "--storage", "stack"], "'stack' is not one of"),
        (["check", "redis://127.0.0.1", "--spawn", "x"], "not both"),
        (["chekc"], "No such command"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = uniqfifo(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.startswith("uniqfifo: ")
    assert (done.stderr.count("\n"), done.stdout) == (1, "")


@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_a_server_that_wants_a_password(
    server_name: str, private_server: object, request: pytest.FixtureRequest
) -> None:
    server: Server = private_server(server_name, password="secret")  # type: ignore[operator]
    assert uniqfifo("check", server.url, "--storage", "list").returncode == 0
    done = uniqfifo("check", f"redis://127.0.0.1:{server.port}")
    assert done.returncode == 2
    assert "Authentication" in done.stderr or "NOAUTH" in done.stderr
    assert done.stderr.count("\n") == 1


def test_without_a_command_it_says_which_there_are() -> None:
    done = uniqfifo()
    assert done.returncode == 2
    assert "check" in done.stderr


def test_help_and_version() -> None:
    assert uniqfifo("--help").returncode == 0
    assert "--spawn" in uniqfifo("check", "--help").stdout
    assert "0.1.0" in uniqfifo("--version").stdout


@pytest.mark.parametrize("module", ["click", "rich", "hypothesis"])
def test_without_the_extra_it_says_what_to_install(module: str) -> None:
    program = f"import sys; sys.modules['{module}'] = None; from uniqfifo.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    needs = f"uniqfifo: the command line needs {module}: pip install 'uniqfifo[check]'\n"
    assert done.stderr == needs


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.servers("redis-7.0")
def test_an_end_from_outside_leaves_nothing_behind(server: Server, ending: signal.Signals) -> None:
    command = [sys.executable, "-c", "from uniqfifo.cli import main; main()", "check", server.url]
    client = server.client()
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    while not client.keys("{uniqfifo-check}-*"):
        time.sleep(0.01)
    running.send_signal(ending)
    _, err = running.communicate(timeout=60)
    assert (running.returncode, err.strip()) == (2, b"uniqfifo: interrupted")
    assert client.keys("{uniqfifo-check}-*") == []

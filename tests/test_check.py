"""The checks as tools: neighbourly on a shared server, reproducible, and never silently idle.

Covers B42 (dbfixtures/pytest-redis#571): cleanup wiped the whole shared server; B44 (mozilla/mozci
#134): everything skipped, all green (see test_servers.py, too); B45 (HypothesisWorks/hypothesis
#3690): a stateful test kept state outside the example.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests import wrong
from uniqfifo_spec.conformance import machine, transitions
from uniqfifo_spec.conformance.bench import at_url, embedded
from uniqfifo_spec.conformance.report import Report, Tally
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once

CHECK = [sys.executable, "-c", "from uniqfifo.cli import main; main()", "check"]


def failure(check: str, name: str) -> Tally:
    """The first failure of a wrong implementation, its reproducer as short as can be."""
    implementation = wrong.implementation(name)
    report = Report(implementation.storages[0])
    with embedded() as bench:
        if check == "machine":
            profile = machine.PROFILES["quick"]
            machine.run(bench, implementation, report.storage, report, profile)
        else:
            for _ in transitions.run(bench, implementation, report.storage, report):
                if not report.conforms:
                    break
        assert bench.keys("") == []
    return next(tally for tally in report.tallies.values() if tally.reproducer)


@pytest.mark.parametrize("check", ["transitions", "machine"])
@pytest.mark.parametrize(
    ("name", "calls"),
    [
        ("RPOP", 2),  # start, dequeue
        ("RPUSH always", 2),
        ("LPUSH", 2),
        ("ZADD without NX", 2),
        ("local cache of seen ids", 3),  # it takes an earlier call to fill the cache
    ],
)
def test_a_failure_comes_with_a_short_program_that_shows_it(
    check: str, name: str, calls: int
) -> None:
    tally = failure(check, name)
    # The last one prints the keys. The machine starts its host again before it shrinks the rest.
    assert tally.reproducer.count("print(") <= (calls + 1 if check == "transitions" else 6)
    done = subprocess.run(
        [sys.executable, "-c", tally.reproducer], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    # What the last call answers, and what the keys hold then, is what the problem says.
    answered = tally.problem.partition("answer ")[2].partition(",")[0]
    assert answered in done.stdout
    if " holds " in tally.problem:
        held = tally.problem.partition(" holds ")[2].partition(", expected")[0]
        assert held in done.stdout


def test_the_same_failure_comes_again() -> None:
    assert failure("machine", "RPOP") == failure("machine", "RPOP")


@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_two_checks_at_once_on_a_shared_server_touch_nothing_but_their_own(
    server: Server, prefix: str
) -> None:
    client = server.client()
    client.rpush(f"{prefix}-workflows", "foreign")
    client.config_resetstat()
    command = [*CHECK, server.url, "--storage", "list"]
    running = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
    assert [process.wait() for process in running] == [0, 0]
    used = {name.removeprefix("cmdstat_") for name in client.info("commandstats")}
    forbidden = ("flush", "script", "config|set", "acl", "keys", "shutdown", "debug")
    assert [name for name in used if name.startswith(forbidden)] == []
    assert client.lrange(f"{prefix}-workflows", 0, -1) == [b"foreign"]
    assert client.keys("{uniqfifo-check}-*") == []


@pytest.mark.servers("redis-7.0")
def test_an_example_that_fails_leaves_nothing_behind(server: Server) -> None:
    implementation = wrong.implementation("RPOP")
    with at_url(server.url) as bench:
        report = Report("list")
        machine.run(bench, implementation, "list", report, machine.PROFILES["quick"])
        assert not report.conforms
        assert bench.keys("{uniqfifo-check}-") == []


@pytest.mark.parametrize("missing", ["fakeredis", "lupa"])
def test_without_the_embedded_server_it_says_what_to_install(missing: str) -> None:
    program = f"import sys; sys.modules[{missing!r}] = None; sys.argv[1:] = ['check']; "
    program += "from uniqfifo.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr == (
        f"uniqfifo: the embedded server needs {missing}: pip install 'uniqfifo[check]'\n"
    )

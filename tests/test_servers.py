"""No server is used under a wrong name, and a run in which a server saw no test is no pass."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import servers

pytestmark = pytest.mark.once


def run_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    """A small run of its own, without this run's settings."""
    ours = ("PYTEST_", "UNIQFIFO_REQUIRE")
    clean = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", __file__, *arguments]
    return subprocess.run(
        command,
        cwd=Path(__file__).parents[1],
        env=clean,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("told", "wanted", "accepted"),
    [
        ("Redis server v=7.0.15 sha=0", "Redis 7.0.", True),
        ("Redis server v=7.0.15 sha=0", "Redis 7.0.15", True),
        ("Redis server v=7.0.15 sha=0", "Redis 7.0.1", False),
        ("Redis server v=7.2.6 sha=0", "Redis 7.0.", False),
        ("Valkey server v=7.0.15 sha=0", "Redis 7.0.", False),
        ("", "Redis 7.0.", False),
    ],
)
def test_a_binary_must_be_the_version_it_stands_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, told: str, wanted: str, accepted: bool
) -> None:
    fake = tmp_path / "redis-server"
    fake.write_text(f"#!/bin/sh\necho '{told}'\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setitem(servers.SOURCES, "made-up", servers.Source(wanted))
    monkeypatch.setattr(servers, "_why_missing", {})
    assert servers.binary("made-up") == (fake if accepted else None)
    assert accepted or f"is not {wanted}" in servers.why_missing("made-up")


def test_a_server_that_cannot_be_had_is_missing_for_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{tmp_path}")
    monkeypatch.setattr(servers, "_why_missing", {})
    assert servers.binary("redis-7.0") is None
    assert servers.why_missing("redis-7.0").startswith("no redis-server on PATH")


def test_a_required_server_on_which_no_test_ran_fails_the_run() -> None:
    arguments = ("--servers", "fakeredis", "-k", "stands_for")
    idle = "NO TEST RAN ON: fakeredis"

    lenient = run_pytest(*arguments)
    assert (lenient.returncode, idle in lenient.stdout) == (0, True)
    strict = run_pytest(*arguments, "--require-servers")
    assert (strict.returncode, idle in strict.stdout) == (1, True)


def test_an_unknown_server_is_a_usage_error() -> None:
    refused = run_pytest("--servers", "fakeredis,redis-1.0")
    assert refused.returncode == pytest.ExitCode.USAGE_ERROR
    assert "--servers: unknown redis-1.0" in refused.stderr

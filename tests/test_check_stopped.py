"""A check that cannot go on says so in one line, and leaves nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster import start_cluster
from tests.faults import user
from tests.test_cli import uniqfifo
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once

COMMAND = [sys.executable, "-c", "from uniqfifo.cli import main; main()", "check"]


def assert_one_line(done: subprocess.CompletedProcess[str], text: str) -> None:
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith("uniqfifo: the check could not run: ")
    assert text in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("rounds", [0, 4])
def test_a_server_that_dies(
    private_server: Callable[..., Server], server_name: str, rounds: int
) -> None:
    server = private_server(server_name)
    command = [*COMMAND, server.url, "--storage", "list", "--profile", "nightly"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        with server.client() as client:
            prefixes: set[bytes] = set()
            while len(prefixes) <= rounds:  # the random sequences take a new one each
                prefixes |= {key[:30] for key in client.keys("{uniqfifo-check}-*")}
                time.sleep(0.001)
        server.process.kill()
        out, err = running.communicate()
    done = subprocess.CompletedProcess(command, running.returncode, out, err)
    assert_one_line(done, "the server does not answer any more")


@pytest.mark.servers("redis-8.2")
def test_a_node_of_a_cluster_by_a_plain_url(binary: str) -> None:
    with ExitStack() as stack:
        url = start_cluster(stack, binary)[0].url
        assert_one_line(uniqfifo("check", url), "")


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("rules", [["~app-*", "+@all"], ["~*", "+@all", "-lrange"]])
def test_a_user_who_may_not_look(server: Server, rules: list[str]) -> None:
    with user(server, "worker", "resetkeys", *rules):
        url = server.url.replace("redis://", "redis://worker:secret@")
        assert_one_line(uniqfifo("check", url, "--storage", "list"), "permission")


def test_nothing_is_left_in_the_folder(tmp_path: Path) -> None:
    done = subprocess.run(
        [*COMMAND, "--storage", "list"], cwd=tmp_path, capture_output=True, check=False
    )
    assert done.returncode == 0
    assert os.listdir(tmp_path) == []

"""The example ports conform, each on its own client library, and the wrong twin does not.

Covers B33 (hegeldev/hegel-core#25): lines cut at U+2028; B38 (flux-framework/flux-core#6171): ids
that look like numbers.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import redis

from tests import example_ports
from tests.example_ports import AWKWARD, FOLDER, LUA, PORTS, WRONG, started
from uniqfifo import Reason, refusals
from uniqfifo_spec.conformance import concurrent, transitions
from uniqfifo_spec.conformance.bench import at_url
from uniqfifo_spec.conformance.implementations import port as as_implementation
from uniqfifo_spec.conformance.oracle import Operation
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.spawn import Server

pytestmark = pytest.mark.once

TRANSITIONS = {"list": 801, "zset": 1286, "zset-strict": 1286}
STORAGES = tuple(TRANSITIONS)
LIMIT = 120  # lines; what is longer is no example


def at_once(command: str, server: Server, storage: str) -> set[str]:
    """The clauses that do not hold when several hosts of a port are called at the same time."""
    report = Report(storage)
    with at_url(server.url) as bench:
        implementation = as_implementation(command, bench)
        for _ in concurrent.run(bench, implementation, storage, report, "quick"):
            pass
    return {clause for clause, each in report.tallies.items() if each.failures}


@pytest.mark.servers("redis-6.2", "valkey-9.1")
@pytest.mark.parametrize("storage", STORAGES)
def test_every_transition(port: str, server: Server, storage: str) -> None:
    # No UTF-8 in the locale: what is on the wire must not depend on it.
    command = f"env LC_ALL=C LANG=C {example_ports.command(port)}"
    report = Report(storage)
    with at_url(server.url) as bench:
        for _ in transitions.run(bench, as_implementation(command, bench), storage, report):
            pass
    assert [each.problem for each in report.tallies.values() if each.failures] == []
    assert report.transitions == TRANSITIONS[storage]


@pytest.mark.servers("redis-7.0")
def test_several_hosts_at_once(port: str, server: Server) -> None:
    assert at_once(example_ports.command(port), server, "zset-strict") == set()


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("port", ["node"], indirect=True)
@pytest.mark.parametrize(
    ("storage", "clauses"),
    [("list", {"CON-1", "CON-2"}), ("zset", {"CON-1"}), ("zset-strict", {"CON-1", "CON-2"})],
)
def test_the_wrong_twin_is_refused(
    port: str, server: Server, storage: str, clauses: set[str]
) -> None:
    assert at_once(f"{port} {WRONG}", server, storage) == clauses


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize("storage", STORAGES)
def test_awkward_ids_go_through_unchanged(
    port: str, server: Server, client: redis.Redis, prefix: str, storage: str
) -> None:
    ids = [*(id.encode() for id in AWKWARD), b"\xff", b"\xed\xa0\x80"]
    key = f"{prefix}-workflows"
    with started(port, server.url, prefix, storage) as host:
        steps = [Operation("enqueue", "workflow", id) for id in ids]
        assert host.trace([*steps, steps[0]], 20) == [*(True for _ in ids), False]
        there = client.lrange(key, 0, -1) if storage == "list" else client.zrange(key, 0, -1)
        assert sorted(there) == sorted(ids)
        left = host.trace([Operation("dequeue", "workflow") for _ in [*ids, None]], 20)
        assert left == [*there, None]


@pytest.mark.servers("redis-7.0")
def test_it_runs_the_scripts_that_it_is_pointed_at(
    port: str, server: Server, prefix: str, tmp_path: Path
) -> None:
    scripts = Path(shutil.copytree(LUA, tmp_path / "lua"))
    (scripts / "zset_dequeue.lua").write_text("return 'another script'", "utf-8")
    pointed = f"env UNIQFIFO_LUA={scripts} {example_ports.command(port)}"
    with started(port, server.url, prefix, "zset", command=pointed) as host:
        assert host.dequeue("workflow") == b"another script"


def test_the_ports_know_the_refusals_that_the_implementation_knows() -> None:
    known = json.loads((FOLDER / "refusals.json").read_text("utf-8"))
    wrong_type = [each for each, why in refusals._TABLE.items() if why is Reason.WRONG_TYPE]
    assert known["front"] == refusals._IN_FRONT
    assert [known["wrong_type"]] == wrong_type
    assert known["not_executed"] == [each for each in refusals._TABLE if each not in wrong_type]


@pytest.mark.parametrize("name", PORTS)
def test_a_port_is_short_enough_to_be_read(name: str) -> None:
    assert len(example_ports.file(name).read_text("utf-8").splitlines()) < LIMIT


def test_the_lock_file_pins_every_package_and_names_no_registry() -> None:
    lock = json.loads((FOLDER / "node" / "package-lock.json").read_text("utf-8"))
    packages = [each for name, each in lock["packages"].items() if name]
    assert packages and all("integrity" in each and "resolved" not in each for each in packages)

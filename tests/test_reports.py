"""Known failures, exit codes, and what other programs read."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.test_cli import uniqfifo
from uniqfifo_spec.conformance.bench import at_url
from uniqfifo_spec.conformance.expected import ExpectedFailures
from uniqfifo_spec.conformance.oracle import Judged
from uniqfifo_spec.conformance.protocol import ProtocolError
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.shown import as_json, write
from uniqfifo_spec.conformance.spawn import Server

pytestmark = [pytest.mark.once, pytest.mark.servers("redis-7.0")]


def check(server: Server, fault: str, *options: str) -> tuple[int, str, str]:
    command = f"{sys.executable} -m tests.wrong_port '{fault}'"
    done = uniqfifo("check", server.url, "--exec", command, "--storage", "list", *options)
    return done.returncode, done.stdout, done.stderr


def test_a_wrong_port_exits_with_1_and_names_the_clause(server: Server, tmp_path: Path) -> None:
    page = tmp_path / "report.xml"
    code, out, _ = check(server, "RPOP", "--report", str(page))
    assert code == 1
    assert "DEQ-1 fails for list" in out and "StdioTarget(" in out
    root = ElementTree.parse(page).getroot()
    failed = {case.get("name", "").split()[0] for case in root.iter("testcase") if len(case)}
    assert "DEQ-1" in failed and "ENQ-1" not in failed


def test_a_list_of_known_failures(server: Server, tmp_path: Path) -> None:
    known = tmp_path / "failures"
    assert check(server, "RPOP", "--failures", str(known), "--fix")[0] == 0
    lines = known.read_text("utf-8").splitlines()
    assert "list DEQ-1 not yet explained" in lines
    assert check(server, "RPOP", "--failures", str(known))[0] == 0
    known.write_text("\n".join([*lines, "list ENQ-2 it was wrong once"]), "utf-8")
    code, _, err = check(server, "RPOP", "--failures", str(known))
    assert code == 1
    assert err == "uniqfifo: list ENQ-2 is listed as failing, and holds\n"


def test_a_breach_of_the_protocol_exits_with_1_in_one_line(server: Server) -> None:
    code, out, err = check(server, "prints a banner")
    assert (code, out) == (1, "")
    assert err.startswith("uniqfifo: the port does not conform: not-json: ")
    assert err.count("\n") == 1


def test_bad_input(server: Server, tmp_path: Path) -> None:
    assert "give a URL or --spawn" in uniqfifo("check", "--exec", "true").stderr
    assert "name it" in uniqfifo("check", "--fix").stderr
    known = tmp_path / "failures"
    known.write_text("list ENQ-2\n", "utf-8")
    done = uniqfifo("check", "--failures", str(known))
    assert done.returncode == 2
    assert f"{known}:1: expected a storage, a clause and a reason" in done.stderr
    done = uniqfifo("check", server.url, "--exec", "/no/such/port")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_the_list_keeps_reasons_and_what_was_not_judged(tmp_path: Path) -> None:
    path = tmp_path / "failures"
    path.write_text("# known\n\nzset ENQ-2 a bug\nlist DEQ-1 old\nlist ENQ-1 gone\n", "utf-8")
    known = ExpectedFailures.read(path)
    judged = [("list", "DEQ-1"), ("list", "ENQ-1"), ("list", "QUE-1")]
    failed = [("list", "DEQ-1"), ("list", "QUE-1")]
    assert known.unexpected(failed) == [("list", "QUE-1")]
    assert known.passing(failed, judged) == [("list", "ENQ-1")]
    known.write(path, failed, judged)
    assert path.read_text("utf-8") == (
        "list DEQ-1 old\nlist QUE-1 not yet explained\nzset ENQ-2 a bug\n"
    )


def test_undecided_is_no_pass(tmp_path: Path) -> None:
    report = Report("list")
    report.add([Judged("CON-1", undecided=True), Judged("ENQ-1")])
    assert report.verdict == "undecided"
    assert json.loads(as_json("a port", "quick", [report]))["conforms"] is False
    page = tmp_path / "report.xml"
    write(page, "a port", [report], ExpectedFailures())
    assert "skipped" in page.read_text("utf-8")
    report.add([Judged("ENQ-1", "wrong")])
    assert report.verdict == "does not conform"


def test_a_program_that_shows_a_failure_keeps_the_password(
    private_server: Callable[..., Server], server_name: str
) -> None:
    server = private_server(server_name, password="secret")
    at = f"127.0.0.1:{server.port}/0"
    shown = {
        f"redis://:secret@{at}": f"redis://PASSWORD@{at}",
        f"redis://default:secret@{at}": f"redis://PASSWORD@{at}",
        f"redis://{at}?password=secret&protocol=2": f"redis://{at}?password=PASSWORD&protocol=2",
    }
    for url, masked in shown.items():
        with at_url(url) as bench:
            assert bench.source == f"at_url({masked!r})"
    with server.client() as client:
        client.config_set("requirepass", "a:b@c")
    with at_url(f"redis://:a:b@c@{at}") as bench:
        assert bench.source == f"at_url('redis://PASSWORD@{at}')"


def test_what_a_port_says_does_not_steer_the_terminal(tmp_path: Path) -> None:
    breach = ProtocolError("refuses-hello", "[/]\x1b[2J\n")
    assert str(breach) == r"refuses-hello: [/]\x1b[2J\n"
    breach = ProtocolError("dies", "no redis://:secret@127.0.0.1:1/0 there")
    assert str(breach) == "dies: no redis://PASSWORD@127.0.0.1:1/0 there"
    page = tmp_path / "report.html"
    write(page, "[/] on Redis", [Report("list")], ExpectedFailures())
    assert "[/] on Redis: cases judged" in page.read_text("utf-8")

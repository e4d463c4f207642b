"""Which servers the tests run on, and the fixtures that give a test one of them.

- `server`: a real server, started once per worker and shared; one test for each selected name
- `binary`: the path of its binary, for tests that start several; `binary_of(name)` likewise
- `client`: a `redis.Redis` on fakeredis and on each of those servers
- `server_name`: the name alone, for `private_server(name, *args)`, which starts one for this test
- `prefix`: a fresh key prefix; whatever the test leaves under it is deleted
- `port`: the name of an example port that can run here; one test for each

`@pytest.mark.servers("redis-2.8", …)` names the servers of one test, whatever the default ones
are. An explicit `--servers` narrows that down, and what `private_server` may start.
"""

from __future__ import annotations

import os
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import fakeredis
import pytest
import redis

from tests import example_ports, servers
from uniqfifo_spec.conformance.spawn import Server, spawn

FAKE = "fakeredis"
RAN, MISSING = "server ran", "server missing"  # what a test report tells the final count


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("servers")
    group.addoption(
        "--servers",
        metavar="NAMES",
        help=f"comma list, or all: {', '.join((FAKE, *servers.SOURCES))} "
        f"(default: {FAKE} and {', '.join(servers.DEFAULT)})",
    )
    group.addoption(
        "--require-servers",
        action="store_true",
        default=os.environ.get("UNIQFIFO_REQUIRE") == "1",
        help="fail where a server is missing, or none of the tests ran on it (UNIQFIFO_REQUIRE=1)",
    )


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Two for each core: what a test waits for is mostly a server."""
    return 2 * (os.cpu_count() or 1)


def pytest_configure(config: pytest.Config) -> None:
    unknown = {*_selected(config)} - {FAKE, *servers.SOURCES}
    if unknown:
        raise pytest.UsageError(f"--servers: unknown {', '.join(sorted(unknown))}")
    if not hasattr(config, "workerinput"):  # under xdist the controller alone sees every report
        config.pluginmanager.register(_Census(config))


def pytest_report_header(config: pytest.Config) -> str:
    return f"redis-py: {redis.__version__}, servers: {', '.join(_selected(config))}"


def _selected(config: pytest.Config) -> list[str]:
    option = config.getoption("--servers")
    if option is None:
        return [FAKE, *servers.DEFAULT]
    if option == "all":  # the floor servers cannot run every storage: tests ask for them by marker
        return [FAKE, *(name for name in servers.SOURCES if name not in servers.FLOOR)]
    return list(dict.fromkeys(name.strip() for name in option.split(",")))


def _allowed(config: pytest.Config, name: str) -> bool:
    """Whether a test may ask for this server by its name."""
    return config.getoption("--servers") in (None, "all") or name in _selected(config)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    used = set(metafunc.fixturenames)
    if "server_name" not in used:
        return
    names = _selected(metafunc.config)
    marker = metafunc.definition.get_closest_marker("servers")
    if marker:
        names = [name for name in marker.args if _allowed(metafunc.config, name)]
    if "client" not in used or used & {"server", "private_server"}:
        names = [name for name in names if name != FAKE]  # it is no process that one could start
    values = [pytest.param(name) for name in names]
    if not values:
        wanted = " or ".join(marker.args) if marker else "a real server"
        skip = pytest.mark.skip(reason=f"needs {wanted}, not selected by --servers")
        values = [pytest.param("none", marks=skip)]
    metafunc.parametrize("server_name", values, indirect=True)


@pytest.fixture
def server_name(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name == FAKE:
        _note(request, RAN, name)
    return name


@pytest.fixture(scope="session")
def running_servers() -> Iterator[Callable[[str], Server]]:
    """The shared servers of this worker: each is started when first asked for."""
    started: dict[str, Server] = {}
    with ExitStack() as stack:

        def running(name: str) -> Server:
            if name not in started:
                started[name] = stack.enter_context(spawn(_path(name)))
            return started[name]

        yield running


@pytest.fixture
def server(
    server_name: str,
    running_servers: Callable[[str], Server],
    request: pytest.FixtureRequest,
) -> Server:
    _require(request, server_name)
    return running_servers(server_name)


@pytest.fixture
def binary(server_name: str, request: pytest.FixtureRequest) -> str:
    _require(request, server_name)
    return _path(server_name)


@pytest.fixture
def client(server_name: str, request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    if server_name == FAKE:
        connected = fakeredis.FakeRedis(server=fakeredis.FakeServer())
    else:
        connected = request.getfixturevalue("server").client()
    yield connected
    connected.close()


@pytest.fixture
def binary_of(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """`binary_of(name)` is the path of a server's binary."""

    def binary_of(name: str) -> str:
        if not _allowed(request.config, name):
            pytest.skip(f"needs {name}, not selected by --servers")
        _require(request, name)
        return _path(name)

    return binary_of


@pytest.fixture
def private_server(binary_of: Callable[[str], str]) -> Iterator[Callable[..., Server]]:
    """`private_server(name, *args, password=None)` starts one to configure, flush or kill."""
    with ExitStack() as stack:

        def start(name: str, *args: str, password: str | None = None) -> Server:
            return stack.enter_context(spawn(binary_of(name), *args, password=password))

        yield start


@pytest.fixture
def prefix(request: pytest.FixtureRequest) -> Iterator[str]:
    unique = f"test-{uuid.uuid4().hex}"
    shared = {"server", "client"} & set(request.fixturenames)
    # Taken now, so that it is still open when the keys are deleted.
    connected = request.getfixturevalue("client") if shared else None
    yield unique
    if connected is not None:
        for key in connected.scan_iter(match=f"{unique}*", count=1000):
            connected.delete(key)


@pytest.fixture(params=example_ports.PORTS)
def port(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    reason = example_ports.why_missing(name)
    if reason:
        _miss(request, f"{name} port", f"the {name} port cannot run: {reason}")
    return name


def _path(name: str) -> str:
    path = servers.binary(name)
    assert path is not None, servers.why_missing(name)
    return str(path)


def _require(request: pytest.FixtureRequest, name: str) -> None:
    if servers.binary(name) is not None:
        _note(request, RAN, name)
        return
    _miss(request, name, f"{name} is missing: {servers.why_missing(name)}")


def _miss(request: pytest.FixtureRequest, name: str, reason: str) -> None:
    """Skip this test for want of something, or fail it where nothing may be missing."""
    _note(request, MISSING, name)
    if request.config.getoption("--require-servers"):
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _note(request: pytest.FixtureRequest, what: str, name: str) -> None:
    request.node.user_properties.append((what, name))  # travels to the controller in the report


class _Census:
    """Counts the tests that each server saw: a selected server that saw none is not a pass."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.ran: Counter[str] = Counter()
        self.missing: set[str] = set()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        noted = {(what, str(name)) for what, name in report.user_properties}  # each once
        if report.when == "call" and not report.skipped:
            self.ran.update(name for what, name in noted if what == RAN)
        self.missing.update(name for what, name in noted if what == MISSING)

    def idle(self) -> list[str]:
        return [name for name in _selected(self.config) if not self.ran[name]]

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        strict = self.config.getoption("--require-servers")
        if strict and self.idle() and not self.config.getoption("collectonly"):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        order = (FAKE, *servers.SOURCES)
        counts = ", ".join(f"{name} {self.ran[name]}" for name in order if self.ran[name])
        terminalreporter.write_sep("-", "tests per server")
        terminalreporter.write_line(counts or "none")
        if self.missing:
            terminalreporter.write_line(f"missing: {', '.join(sorted(self.missing))}")
        if self.idle():
            terminalreporter.write_line(f"NO TEST RAN ON: {', '.join(self.idle())}")

"""The implementation conforms, on the embedded server and on every real one."""

from __future__ import annotations

import os

import pytest
import redis

import uniqfifo.asyncio
from uniqfifo import RedisQueueProvider
from uniqfifo_spec.conformance import machine, transitions
from uniqfifo_spec.conformance.bench import Bench, at_url, embedded
from uniqfifo_spec.conformance.implementations import UNIQFIFO
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.conformance.targets import Awaited, ProviderTarget

STORAGES = UNIQFIFO.storages
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")

# Transitions where the clock can be set, which adds three scores, and elsewhere.
EMBEDDED = {"list": 801, "zset": 3851, "zset-strict": 3851}
REAL = {"list": 801, "zset": 1286, "zset-strict": 1286}


def with_client(**options: object) -> Implementation:
    """The provider over a client that the caller made, with these options."""

    def host(bench: Bench, prefix: str, storage: str) -> ProviderTarget:
        client = redis.Redis.from_url(bench.url or "", **options)  # type: ignore[arg-type]
        return ProviderTarget(RedisQueueProvider(client, prefix, storage))

    return Implementation(f"uniqfifo with {options}", host, "")


ASYNCIO = Implementation(
    "uniqfifo.asyncio",
    lambda bench, prefix, storage: ProviderTarget(
        Awaited(uniqfifo.asyncio.RedisQueueProvider(bench.url or "", prefix, storage))
    ),
    "",
)


def all_transitions(bench: Bench, implementation: Implementation, storage: str) -> Report:
    report = Report(storage)
    for _ in transitions.run(bench, implementation, storage, report):
        pass
    return report


def problems(report: Report) -> list[str]:
    return [tally.problem for tally in report.tallies.values() if tally.failures]


@pytest.mark.once
@pytest.mark.parametrize("storage", STORAGES)
def test_every_transition_on_the_embedded_server(storage: str) -> None:
    with embedded() as bench:
        report = all_transitions(bench, UNIQFIFO, storage)
    assert problems(report) == []
    assert report.transitions == EMBEDDED[storage]


@pytest.mark.parametrize("storage", STORAGES)
def test_every_transition_on_a_real_server(server: Server, storage: str) -> None:
    with at_url(server.url) as bench:
        report = all_transitions(bench, UNIQFIFO, storage)
    assert problems(report) == []
    assert report.transitions == REAL[storage]


@pytest.mark.servers("redis-5.0", "redis-8.2", "valkey-9.1")
@pytest.mark.parametrize("storage", STORAGES)
def test_every_transition_through_asyncio(server: Server, storage: str) -> None:
    with at_url(server.url) as bench:
        report = all_transitions(bench, ASYNCIO, storage)
    assert problems(report) == []
    assert report.transitions == REAL[storage]


@pytest.mark.servers("redis-7.0")
@pytest.mark.parametrize(
    "options",
    [{"decode_responses": True}, {"single_connection_client": True}, {"encoding": "latin-1"}],
    ids=str,
)
def test_every_transition_with_a_client_of_the_callers(
    server: Server, options: dict[str, object]
) -> None:
    with at_url(server.url) as bench:
        report = all_transitions(bench, with_client(**options), "zset")
    assert problems(report) == []


@pytest.mark.once
@pytest.mark.parametrize("storage", STORAGES)
def test_random_sequences_on_the_embedded_server(storage: str) -> None:
    report = Report(storage)
    with embedded() as bench:
        machine.run(bench, UNIQFIFO, storage, report, machine.PROFILES[PROFILE])
    assert problems(report) == []
    assert report.steps > 1000


@pytest.mark.once
@pytest.mark.parametrize("storage", STORAGES)
def test_random_sequences_on_a_real_server(server: Server, storage: str) -> None:
    report = Report(storage)
    with at_url(server.url) as bench:
        machine.run(bench, UNIQFIFO, storage, report, machine.PROFILES["quick"])
    assert problems(report) == []


@pytest.mark.once
@pytest.mark.servers("redis-5.0", "valkey-9.1")
def test_foreign_keys_are_untouched_and_none_is_left_behind(server: Server, prefix: str) -> None:
    foreign = {f"{prefix}-workflows": b"1", f"{prefix}-other": b"2", f"{prefix}": b"3"}
    client = server.client()
    client.mset(foreign)
    before = {key: client.dump(key) for key in client.keys("*")}
    with at_url(server.url) as bench:
        all_transitions(bench, UNIQFIFO, "zset")
    # Other tests share the server: what was there is what must not have changed.
    assert {key: client.dump(key) for key in before} == before
    assert client.keys("{uniqfifo-check}-*") == []

"""A request goes out once: `check --lose-answers` sees a client layer that sends it again."""

from __future__ import annotations

from copy import copy

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from tests import wrong
from tests.test_cli import uniqfifo
from uniqfifo_spec.conformance import resends
from uniqfifo_spec.conformance.bench import Bench, at_url
from uniqfifo_spec.conformance.implementations import UNIQFIFO
from uniqfifo_spec.conformance.report import Report
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.designs import STORAGES

pytestmark = [pytest.mark.once, pytest.mark.servers("redis-7.0", "valkey-9.1")]


class ThroughTheRetryLayer(wrong.Host):
    """The right scripts, called as the client library calls them."""

    def __init__(self, bench: Bench, prefix: str, storage: str) -> None:
        pool = redis.ConnectionPool.from_url(bench.url or "", protocol=2, socket_timeout=1)
        retrying = copy(bench)
        retrying.client = redis.Redis(
            connection_pool=pool,
        )
        pool.connection_kwargs["retry"] = Retry(NoBackoff(), 3)
        pool.connection_kwargs["retry_on_error"] = [redis.TimeoutError, redis.ConnectionError]
        super().__init__(retrying, prefix, storage)

    def stop(self) -> None:
        super().stop()
        self.client.connection_pool.disconnect()


def problems(server: Server, implementation: Implementation, storage: str) -> dict[str, str]:
    report = Report(storage)
    with at_url(server.url) as bench:
        resends.run(bench, implementation, storage, report)
    return {clause: tally.problem for clause, tally in report.tallies.items() if tally.failures}


@pytest.mark.parametrize("storage", STORAGES)
def test_ours_sends_once_and_says_that_the_outcome_is_unknown(server: Server, storage: str) -> None:
    assert problems(server, UNIQFIFO, storage) == {}


@pytest.mark.parametrize("storage", STORAGES)
def test_a_client_that_goes_through_the_retry_layer_eats_the_head(
    server: Server, storage: str
) -> None:
    retrying = Implementation("retrying", ThroughTheRetryLayer, "")
    found = problems(server, retrying, storage)
    assert found["DEL-2"] == "one dequeue took 2 ids"


@pytest.mark.servers("redis-7.0")
def test_the_command_has_it(server: Server) -> None:
    done = uniqfifo("check", server.url, "--storage", "list", "--lose-answers")
    assert done.returncode == 0
    assert "A request goes out once" in done.stdout


def test_the_embedded_server_has_no_wire_to_lose_answers_on() -> None:
    done = uniqfifo("check", "--storage", "list", "--lose-answers")
    assert done.returncode == 2
    assert "give a URL or --spawn" in done.stderr

"""Counterexamples happen on live servers, and a server that does something else is noticed."""

import copy
from functools import cache
from itertools import combinations_with_replacement
from typing import Any

import pytest
import redis

from uniqfifo_spec.conformance.bench import server_name
from uniqfifo_spec.conformance.explore_cli import SCRIPTS
from uniqfifo_spec.conformance.replay import Replayed, replay
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.explore import Configuration, explore
from uniqfifo_spec.explore.scenarios import SCENARIOS
from uniqfifo_spec.explore.trace_json import trace_as_json
from uniqfifo_spec.keyspace import List
from uniqfifo_spec.rejected import DESIGNS, LEGACY, SET_AND_LIST

pytestmark = pytest.mark.once


def configurations() -> dict[str, Configuration]:
    pairs = combinations_with_replacement(DESIGNS.values(), 2)
    return {
        **{"+".join(design.name for design in pair): Configuration(pair) for pair in pairs},
        "a crash": Configuration((SET_AND_LIST, SET_AND_LIST), 2, lost=1, crashes=1),
        "a legacy crash": Configuration((LEGACY, DESIGNS["zset"]), 2, crashes=1),
        "a pending id": Configuration((LEGACY, LEGACY), initial=(List((b"a",)), None)),
        **SCENARIOS,
    }


@cache
def traces(name: str) -> list[dict[str, Any]]:
    found = [verdict.trace for verdict in explore(configurations()[name]).verdicts.values()]
    return [trace_as_json(trace) for trace in found if trace]


HOLDING = ("list+list", "zset+zset", "zset+zset-strict", "zset-strict+zset-strict", "cutover")


@pytest.mark.servers("redis-5.0", "redis-7.0", "redis-8.2", "valkey-9.1")
@pytest.mark.parametrize("name", [name for name in configurations() if name not in HOLDING])
def test_every_counterexample_is_confirmed(name: str, client: redis.Redis) -> None:
    assert traces(name)
    for trace in traces(name):
        assert replay(trace, client, SCRIPTS) == Replayed("confirmed")
    assert list(client.scan_iter("{uniqfifo-replay*")) == []


@pytest.mark.parametrize("name", HOLDING)
def test_what_holds_has_no_counterexample(name: str) -> None:
    assert traces(name) == []


def test_a_counterexample_that_needs_the_clock_is_undecided(client: redis.Redis) -> None:
    report = explore(Configuration((DESIGNS["zset"],) * 2, clock="any"), ("fifo",))
    trace = report.verdicts["fifo"].trace
    assert trace and replay(trace_as_json(trace), client, SCRIPTS).outcome == "undecided"


def test_a_wrong_reply_is_noticed(client: redis.Redis) -> None:
    trace = copy.deepcopy(traces("legacy+legacy")[0])
    trace["steps"][0]["reply"] = -1  # the list is absent: 0
    found = replay(trace, client, SCRIPTS)
    assert found == Replayed("differs", "step 1, the reply: model -1, server 0")


def test_a_script_that_does_something_else_is_noticed(client: redis.Redis) -> None:
    """Without LREM, what was already pending is there twice."""
    wrong = "return redis.call('LINSERT', KEYS[1], 'BEFORE', ARGV[1], ARGV[1]) > 0 and 0 or 1"
    (trace,) = [trace for trace in traces("legacy+list") if trace["property"] == "nothing-lost"]
    found = replay(trace, client, {**SCRIPTS, "list.enqueue": wrong})
    assert found.outcome == "differs"
    assert found.why.startswith("step 1, what the keys hold: model")


def test_the_server_says_who_it_is(server: Server) -> None:
    name, version = server_name(server.client()).split()
    assert name in ("Redis", "Valkey") and version[0].isdigit()

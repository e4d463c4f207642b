"""`uniqfifo explore` and `uniqfifo replay` as a person meets them."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from uniqfifo_spec.conformance import explore_cli
from uniqfifo_spec.conformance.spawn import Server
from uniqfifo_spec.explore.matrix import Row, matrix, row

pytestmark = pytest.mark.once

FALSE = ("linearizable", "linearizable-to-bag")
TIES = {"ties": 3, "back": 3}


def always(**steps: int) -> dict[str, dict[str, int]]:
    return {name.replace("_", "-"): {"always": number} for name, number in steps.items()}


def false_answers(steps: int) -> dict[str, dict[str, int]]:
    return {name: {"always": steps} for name in FALSE}


BROKEN = {
    "legacy+legacy": {
        **false_answers(4),
        **always(unique=4, nothing_lost=7, delivered_once=6, quiet=4),
    },
    "legacy+list": {
        **false_answers(3),
        **always(unique=3, nothing_lost=5, delivered_once=5, quiet=3),
    },
    "legacy+zset": {
        "linearizable": TIES,
        "unique": {"fault": 4},
        "fifo": TIES,
        **always(quiet=4, never_wedged=1),
    },
    "legacy+zset-strict": {"unique": {"fault": 4}, **always(quiet=4, never_wedged=1)},
    "legacy+set+list": {
        **false_answers(4),
        **always(unique=4, nothing_lost=4, fifo=7, delivered_once=8, quiet=4, never_wedged=3),
    },
    "list+list": {},
    "list+zset": {"linearizable": TIES, "fifo": TIES, **always(never_wedged=1)},
    "list+zset-strict": always(never_wedged=1),
    "list+set+list": {
        **false_answers(3),
        **always(unique=3, nothing_lost=4, fifo=6, never_wedged=3),
    },
    "zset+zset": {"linearizable": TIES, "fifo": TIES},
    "zset+zset-strict": {"linearizable": TIES, "fifo": TIES},
    "zset+set+list": {
        **false_answers(5),
        **always(nothing_lost=4),
        "fifo": TIES,
        **always(never_wedged=1),
    },
    "zset-strict+zset-strict": {},
    "zset-strict+set+list": {**false_answers(5), **always(nothing_lost=4, never_wedged=1)},
    "set+list+set+list": {
        **false_answers(3),
        "nothing-lost": {"fault": 3},
        **always(fifo=5),
        "never-wedged": {"fault": 2},
    },
}
"""The whole map. A property that is not named holds under every assumption."""


def run(*arguments: str, input: str = "") -> Result:
    command = explore_cli.replay if arguments[0] == "replay" else explore_cli.explore
    return CliRunner(env={"COLUMNS": "80"}).invoke(command, arguments[1:], input=input)


def test_the_whole_matrix() -> None:
    met: list[Row] = []
    rows = matrix(progress=met.append)
    assert met == rows
    assert {"+".join(row.designs): row.broken for row in rows} == BROKEN
    assert all(row.undetermined == () for row in rows)
    assert sum(row.states for row in rows) == 89_359


def test_the_matrix_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [("list", "list"), ("zset", "zset-strict"), ("set+list", "set+list")]
    monkeypatch.setattr(explore_cli, "matrix", lambda ops, progress: [row(pair) for pair in pairs])
    done = run("explore")
    assert done.exit_code == 0, done.output  # a map, not a judgement
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "zset+zset-strict  3 ties holds holds  holds   3 ties" in done.stdout
    assert "set+list+set+list 3      3     holds  3 fault 5" in done.stdout
    rows = json.loads(run("explore", "--json").stdout)
    assert rows[0]["designs"] == ["list", "list"] and rows[0]["broken"] == {}


def test_one_configuration_with_its_shortest_trace() -> None:
    done = run("explore", "legacy+list", "--property", "nothing-lost")
    assert done.exit_code == 1
    assert "nothing-lost  REFUTED  in 5 steps" in done.stdout
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    table = lines[lines.index("Not nothing-lost:") + 2 :]
    assert table == [
        "  1: legacy              2: list           key",
        "0                                          -",
        "1                        enqueue a:        list a",
        "                         one script",
        "                         = added",
        "2 enqueue a:                               list a a",
        "  LINSERT BEFORE a a → 2",
        "3                        dequeue:          list a",
        "                         LPOP → a",
        "                         = a",
        "4                        enqueue a:        list a",
        "                         one script",
        "                         = already pending",
        "5 LREM 1 a → 1                             -",
        "  = already pending",
    ]


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (["list"], 0, "unique               PROVED"),
        (["list", "--ops", "1", "--property", "fifo"], 3, "nothing put it to the test"),
        (["list", "--clients", "4", "--ops", "5", "--limit", "10"], 3, "the limit of 10 states"),
        (["list", "--clients", "4", "--ops", "5"], 0, "8,491 states"),
        (["set+list+set+list", "--property", "linearizable"], 1, "in 3 steps"),
        (["set+list", "--crashes", "--property", "never-wedged"], 1, "in 2 steps"),
        (["set+list", "--property", "never-wedged"], 0, "never-wedged  PROVED"),
        (["zset", "--clock", "any", "--property", "fifo"], 1, "(clock earlier)"),
        (["legacy", "--initial", "a", "--property", "nothing-lost"], 1, "in 5 steps"),
        (["--scenario", "late-old-host", "--property", "never-wedged"], 1, "= error WRONGTYPE"),
        (["--scenario", "rollback", "--property", "never-wedged"], 1, "in 0 steps"),
        (["lists"], 2, "no such design: 'lists'"),
        (["set+set"], 2, "no such design: 'set+set'"),
        (["list+"], 2, "no such design: ''"),
        (["list", "--scenario", "cutover"], 2, "not both"),
    ],
)
def test_exit_codes(arguments: list[str], code: int, says: str) -> None:
    done = run("explore", *arguments)
    assert done.exit_code == code, done.output
    assert says in done.output


@pytest.mark.servers("redis-5.0", "redis-7.0", "redis-8.2", "valkey-9.1")
def test_what_explore_prints_is_what_replay_reads(server: Server, tmp_path: Path) -> None:
    found = run("explore", "legacy+list", "--json")
    assert found.exit_code == 1
    file = tmp_path / "trace.json"
    file.write_text(found.stdout)
    done = run("replay", str(file), f"{server.url}?decode_responses=true")
    assert done.exit_code == 0, done.output
    name = explore_cli.server_name(server.client())
    assert f"nothing-lost: confirmed on {name}\n" in done.stdout
    assert len(done.stdout.splitlines()) == 6
    result = json.loads(run("replay", "-", server.url, "--json", input=found.stdout).stdout)
    assert result["server"] == name
    assert result["traces"]["unique"] == {"outcome": "confirmed", "why": ""}


def test_replay_leaves_open_what_needs_the_clock(server: Server) -> None:
    found = run("explore", "zset", "--clock", "any", "--property", "fifo", "--json")
    done = run("replay", "-", server.url, input=found.stdout)
    assert done.exit_code == 3
    assert done.stdout.startswith("fifo: undecided: it needs the server's clock")


def test_replay_tells_where_they_differ(server: Server) -> None:
    found = json.loads(run("explore", "legacy", "--property", "unique", "--json").stdout)
    trace = found["verdicts"]["unique"]["trace"]
    trace["steps"][-1]["keys"][0]["ids"] = ["b"]
    done = run("replay", "-", server.url, input=json.dumps(trace))
    assert done.exit_code == 1
    assert "unique: differs on" in done.stdout and "step 4, what the keys hold" in done.stdout


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"verdicts": {"unique": {"trace": {}}}}'])
def test_replay_of_something_else(server: Server, text: str) -> None:
    done = run("replay", "-", server.url, input=text)
    assert (done.exit_code, "TRACE is not what" in done.output) == (1, True)  # click alone: 1


def test_replay_without_a_server() -> None:
    trace = run("explore", "legacy", "--property", "unique", "--json").stdout
    done = run("replay", "-", "redis://127.0.0.1:1", input=trace)
    assert "the replay could not run" in done.output

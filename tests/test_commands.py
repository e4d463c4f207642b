"""The command semantics is itself evidence: real servers answer every command as the model does."""

from typing import Any

import pytest
import redis
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from uniqfifo_spec import commands
from uniqfifo_spec.commands import (
    Command,
    Del,
    Error,
    LInsertBefore,
    LPop,
    LRangeAll,
    LRemFirst,
    Reply,
    RPush,
    SAdd,
    SRem,
    Time,
    Type,
    ZAddNX,
    ZLastScore,
    ZRangeAll,
    ZRangeFirst,
    ZRem,
)
from uniqfifo_spec.keyspace import List, Other, Set, Value, ZSet

pytestmark = pytest.mark.once

IDS = st.sampled_from([b"a", b"b", b"B", b"\xff\x00\r\n", "µ".encode()])
SCORES = st.one_of(
    st.sampled_from([0, 1, -1, 0.5, 2**53 - 1, -(2**53) + 1, float("inf"), float("-inf")]),
    st.integers(1_700_000_000_000_000, 1_700_000_000_000_003),
)
COMMANDS = {
    LInsertBefore: st.builds(LInsertBefore, IDS, IDS),
    RPush: st.builds(RPush, IDS),
    LRemFirst: st.builds(LRemFirst, IDS),
    LPop: st.just(LPop()),
    LRangeAll: st.just(LRangeAll()),
    ZAddNX: st.builds(ZAddNX, SCORES, IDS),
    ZRangeFirst: st.just(ZRangeFirst()),
    ZRangeAll: st.just(ZRangeAll()),
    ZLastScore: st.just(ZLastScore()),
    ZRem: st.builds(ZRem, IDS),
    SAdd: st.builds(SAdd, IDS),
    SRem: st.builds(SRem, IDS),
    Type: st.just(Type()),
    Del: st.just(Del()),
}
ON_LISTS = (LInsertBefore, RPush, RPush, LRemFirst, LPop, LRangeAll)
ON_ZSETS = (ZAddNX, ZAddNX, ZRangeFirst, ZRangeAll, ZLastScore, ZRem)
ON_SETS = (SAdd, SAdd, SRem)


def mostly(*kinds: type[Command]) -> st.SearchStrategy[list[Command]]:
    """Commands of one type, now and then one of another: that is where WRONGTYPE comes from."""
    some = st.one_of([COMMANDS[kind] for kind in kinds])
    return st.lists(st.one_of(some, some, some, st.one_of([*COMMANDS.values()])), max_size=20)


def sent(client: redis.Redis, command: Command, key: str) -> Reply:
    try:
        reply = client.execute_command(*command.wire(key))
    except redis.ResponseError as error:
        return Error(str(error).partition(" ")[0])
    if isinstance(command, Type):
        return reply.decode()
    return _plain(reply, scores=isinstance(command, ZLastScore))


def _plain(reply: Any, *, scores: bool) -> Reply:
    if not isinstance(reply, list):
        return reply
    if scores and reply:  # flat, or in pairs under protocol 3
        id, score = reply if len(reply) == 2 else reply[0]
        return (id, float(score))
    return tuple(reply)


def held(client: redis.Redis, key: str) -> Value:
    match client.type(key):
        case b"none":
            return None
        case b"list":
            return List(tuple(client.lrange(key, 0, -1)))
        case b"zset":
            found = client.zrange(key, 0, -1, withscores=True)
            return ZSet(tuple((score, id) for id, score in found))
        case b"set":
            return Set(tuple(sorted(client.smembers(key))))
        case kind:
            return Other(kind.decode())


def agree(client: redis.Redis, prefix: str, sequence: list[Command], value: Value = None) -> None:
    key = f"{prefix}-commands"
    client.delete(key)
    if isinstance(value, Other):
        client.set(key, "x")
    for command in sequence:
        reply, value = command.apply(value)
        assert sent(client, command, key) == reply
        assert held(client, key) == value


relaxed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@relaxed
@given(sequence=st.one_of(mostly(*ON_LISTS), mostly(*ON_ZSETS), mostly(*ON_SETS)))
@example(sequence=[LInsertBefore(b"a", b"a"), RPush(b"b"), LInsertBefore(b"a", b"a")])  # 0 and -1
@example(sequence=[ZAddNX(5, b"b"), ZAddNX(5, b"a"), ZRangeFirst(), ZAddNX(9, b"b"), ZLastScore()])
def test_servers_answer_as_the_model(
    client: redis.Redis, prefix: str, sequence: list[Command]
) -> None:
    agree(client, prefix, sequence)


def test_a_foreign_type_is_refused_by_every_command_that_has_one(
    client: redis.Redis, prefix: str
) -> None:
    for command in (
        *(LInsertBefore(b"a", b"a"), RPush(b"a"), LRemFirst(b"a"), LPop(), LRangeAll()),
        *(ZAddNX(1, b"a"), ZRangeFirst(), ZRangeAll(), ZLastScore(), ZRem(b"a")),
        *(SAdd(b"a"), SRem(b"a")),
    ):
        assert command.apply(Other("string")) == (Error("WRONGTYPE"), Other("string"))
        agree(client, prefix, [command, Type()], Other("string"))


def test_no_command_is_left_out() -> None:
    kinds = {kind for kind in vars(commands).values() if isinstance(kind, type)}
    there = {kind for kind in kinds if issubclass(kind, Command)}
    shared = {Command, commands.ListCommand, commands.ZSetCommand, commands.SetCommand}
    assert there - shared == {*COMMANDS, Time}


def test_a_model_that_is_wrong_is_caught(client: redis.Redis, prefix: str) -> None:
    class ForgetsNX(ZAddNX):
        __slots__ = ()

        def on(self, entries: Any) -> Any:
            others = tuple(entry for entry in entries if entry[1] != self.id)
            return int(others == entries), tuple(sorted((*others, (self.score, self.id))))

    with pytest.raises(AssertionError):
        agree(client, prefix, [ForgetsNX(1, b"a"), ForgetsNX(2, b"a")])

"""The designs that do not keep the queue's promises, and all designs by name.

`legacy` is what `list` was before its commands became one script. `set+list` is the alternative
that the list design's document rejects: a companion set says what is pending.

Source: the published list design, "Describe the change" and "Rejected alternative".
"""

from uniqfifo_spec.commands import LPop, RPush, SAdd, SRem
from uniqfifo_spec.designs import STORAGES, Design, Program, legacy_enqueue, list_start, lpop
from uniqfifo_spec.fifo import Id


def connect() -> Program:
    """A start that sends nothing: the design does not look at its keys."""
    yield from ()
    return None


def set_and_list_enqueue(id: Id) -> Program:
    if not (yield SAdd(id)):
        return False
    yield RPush(id)
    return True


def set_and_list_dequeue() -> Program:
    id: Id | None = yield LPop()
    if id is not None:
        yield SRem(id)
    return id


LEGACY = Design("legacy", legacy_enqueue, lpop, connect)
SET_AND_LIST = Design("set+list", set_and_list_enqueue, set_and_list_dequeue, list_start)

DESIGNS = {design.name: design for design in (LEGACY, *STORAGES.values(), SET_AND_LIST)}

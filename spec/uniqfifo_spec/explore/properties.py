"""The properties by name."""

from collections.abc import Callable

from uniqfifo_spec.explore.configuration import Configuration
from uniqfifo_spec.explore.events import Monitor
from uniqfifo_spec.explore.linearizable import Linearizable, to_bag, to_fifo
from uniqfifo_spec.explore.monitors import (
    DeliveredOnce,
    NeverWedged,
    NothingLost,
    Quiet,
    Unique,
)
from uniqfifo_spec.explore.order import Fifo

PROPERTIES: dict[str, Callable[[Configuration], Monitor]] = {
    "linearizable": lambda _: Linearizable(to_fifo),
    "linearizable-to-bag": lambda _: Linearizable(to_bag),
    "unique": lambda configuration: Unique(configuration.initial),
    "nothing-lost": lambda _: NothingLost(),
    "fifo": lambda _: Fifo(),
    "delivered-once": lambda _: DeliveredOnce(),
    "quiet": lambda _: Quiet(),
    "never-wedged": NeverWedged,
}

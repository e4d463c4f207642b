"""The executable specification of the unique pending FIFO queue; `SPEC.md` is its prose.

`fifo`, `keyspace`, `commands` and `designs` are the model and need the standard library alone.
`conformance` compares implementations with it. `InMemoryQueueProvider` and its asyncio twin are the
model behind the interface of `uniqfifo`, for tests of applications.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from uniqfifo_spec.memory import AsyncInMemoryQueueProvider, InMemoryQueueProvider

__all__ = ["AsyncInMemoryQueueProvider", "InMemoryQueueProvider"]


def __getattr__(name: str) -> Any:
    # Not imported with the package: the fakes need uniqfifo, the model does not.
    if name in __all__:
        from uniqfifo_spec import memory

        return getattr(memory, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

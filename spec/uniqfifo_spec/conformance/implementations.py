"""What there is to check: this project's own implementation, and ports."""

from uniqfifo import RedisQueueProvider
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.stdio import Port, StdioTarget
from uniqfifo_spec.conformance.targets import ProviderTarget

UNIQFIFO = Implementation(
    "uniqfifo",
    lambda bench, prefix, storage: ProviderTarget(
        RedisQueueProvider(bench.url or bench.client, prefix, storage)
    ),
    "ProviderTarget(uniqfifo.RedisQueueProvider(bench.url or bench.client, prefix, storage))",
)


def port(command: str, bench: Bench) -> Implementation:
    """A port that is driven over stdio, as it introduces itself. Raises ProtocolError."""
    if bench.url is None:
        raise ValueError("a port needs a real server: give a URL or --spawn")
    with bench.prefix() as prefix:
        process = Port(command, bench.url, prefix, "zset")
        hello = process.hello
        process.stop()
    return Implementation(
        hello["implementation"]["name"],
        lambda bench, prefix, storage: StdioTarget(command, bench.url or "", prefix, storage),
        f"StdioTarget({command!r}, bench.url, prefix, storage)",
        tuple(hello["storages"]),
        "bytes" in hello.get("capabilities", ()),
        is_a_process=True,
    )

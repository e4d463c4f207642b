"""What there is to check: this project's own implementation, and ports."""

from typing import Any

from uniqfifo import RedisQueueProvider
from uniqfifo.storage import printable
from uniqfifo_spec.conformance.bench import Bench
from uniqfifo_spec.conformance.protocol import ProtocolError
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.stdio import Port, StdioTarget
from uniqfifo_spec.conformance.targets import ProviderTarget
from uniqfifo_spec.designs import STORAGES

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
    hello = _introduce(command, bench, bench.url)
    return Implementation(
        printable(hello["implementation"]["name"]),
        lambda bench, prefix, storage: StdioTarget(command, bench.url or "", prefix, storage),
        f"StdioTarget({command!r}, bench.url, prefix, storage)",
        tuple(hello["storages"]),
        "bytes" in hello.get("capabilities", ()),
        is_a_process=True,
    )


def _introduce(command: str, bench: Bench, url: str) -> dict[str, Any]:
    """What the port says of itself: it may be asked for a storage first that it does not offer."""
    with bench.prefix() as prefix:
        for storage in STORAGES:
            try:
                process = Port(command, url, prefix, storage)
            except ProtocolError as error:
                refused = error
                if error.fault != "refuses-hello":
                    raise
            else:
                process.stop()
                return process.hello
    raise refused

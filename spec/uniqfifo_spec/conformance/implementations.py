"""This project's own implementation, as something to check."""

from uniqfifo import RedisQueueProvider
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.targets import ProviderTarget

UNIQFIFO = Implementation(
    "uniqfifo",
    lambda bench, prefix, storage: ProviderTarget(
        RedisQueueProvider(bench.url or bench.client, prefix, storage)
    ),
    "ProviderTarget(uniqfifo.RedisQueueProvider(bench.url or bench.client, prefix, storage))",
)

"""For the test suite of a Python implementation: one line, and pytest or unittest runs the checks.

    TestMyQueue = conformance_tests(MyProvider)

`MyProvider` is made from a client, a prefix and a storage, has the methods of
`uniqfifo.RedisQueueProvider` and raises the errors of `uniqfifo`. It is checked on an embedded
server. For another server, or another interface, see `Implementation`.
"""

import unittest
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from typing import Any

from uniqfifo_spec.conformance.bench import Bench, embedded
from uniqfifo_spec.conformance.check import check
from uniqfifo_spec.conformance.session import Implementation
from uniqfifo_spec.conformance.targets import ProviderTarget
from uniqfifo_spec.designs import STORAGES


def conformance_tests(
    provider: Callable[[Any, str, str], Any],
    storages: Iterable[str] = tuple(STORAGES),
    *,
    bench: Callable[[], AbstractContextManager[Bench]] = embedded,
    profile: str = "quick",
) -> type[unittest.TestCase]:
    """A test case with one test for each storage.

    `provider` makes a provider, not yet started, from a client, a prefix and a storage. A test that
    fails says for each clause what was wrong, and shows the program that shows it.
    """
    implementation = Implementation(
        "the provider",
        lambda bench, prefix, storage: ProviderTarget(provider(bench.client, prefix, storage)),
        "ProviderTarget(...)  # your provider, from (bench.client, prefix, storage)",
        tuple(storages),
    )

    class Conformance(unittest.TestCase):
        """Does the provider do what SPEC.md says?"""

    for storage in implementation.storages:

        def test(self: unittest.TestCase, storage: str = storage) -> None:
            with bench() as server:
                (report,) = check(server, implementation, [storage], profile)
            problems = [
                f"{clause}: {tally.problem}\n{tally.reproducer}"
                for clause, tally in report.tallies.items()
                if tally.failures or tally.undecided
            ]
            if problems:
                self.fail("\n\n".join(problems))

        setattr(Conformance, f"test_{storage.replace('-', '_')}_conforms", test)
    return Conformance

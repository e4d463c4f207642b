"""A Python implementation is checked by one line in its own test suite."""

import unittest

import pytest

from uniqfifo import RedisQueueProvider
from uniqfifo_spec.conformance.testing import conformance_tests

pytestmark = pytest.mark.once


class Forgetful(RedisQueueProvider):
    """Takes the head out, and loses it."""

    def dequeue_work(self, queue):  # type: ignore[no-untyped-def]
        super().dequeue_work(queue)


TestRight = conformance_tests(RedisQueueProvider, ["list"])


def test_a_wrong_provider_fails_and_says_by_which_clause() -> None:
    cases = conformance_tests(Forgetful, ["list"])
    result = unittest.TestResult()
    unittest.defaultTestLoader.loadTestsFromTestCase(cases).run(result)
    ((_, message),) = result.failures
    assert "DEQ-1: answer None, expected b'a'" in message
    assert "list_host.dequeue(" in message


def test_there_is_one_test_for_each_storage() -> None:
    names = unittest.defaultTestLoader.getTestCaseNames(conformance_tests(RedisQueueProvider))
    assert names == ["test_list_conforms", "test_zset_conforms", "test_zset_strict_conforms"]

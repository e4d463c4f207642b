"""The checks can fail: each wrong implementation is caught by each of them, and no right one is."""

import pytest
from hypothesis import Phase, settings

from tests import wrong
from uniqfifo_spec.conformance import machine, transitions
from uniqfifo_spec.conformance.bench import embedded
from uniqfifo_spec.conformance.report import Report

pytestmark = pytest.mark.once

# Finding one is enough here: no need to look for the shortest.
LOOK = settings(machine.PROFILES["ci"], phases=[Phase.generate])
LOOK_LESS = machine.PROFILES["quick"]


def checked_by(check: str, name: str, look: settings = LOOK) -> list[Report]:
    implementation = wrong.implementation(name)
    reports = [Report(storage) for storage in implementation.storages]
    with embedded() as bench:
        for report in reports:
            if check == "transitions":
                for _ in transitions.run(bench, implementation, report.storage, report):
                    if not report.conforms:
                        break
            else:
                machine.run(bench, implementation, report.storage, report, look)
    return reports


@pytest.mark.parametrize("check", ["transitions", "machine"])
@pytest.mark.parametrize("name", wrong.WRONG)
def test_every_wrong_implementation_is_caught(check: str, name: str) -> None:
    reports = checked_by(check, name)
    assert not all(report.conforms for report in reports)


@pytest.mark.parametrize("check", ["transitions", "machine"])
@pytest.mark.parametrize("name", wrong.EQUIVALENT)
def test_no_right_implementation_is_refused(check: str, name: str) -> None:
    assert all(report.conforms for report in checked_by(check, name, LOOK_LESS))


def test_how_many_there_are() -> None:
    assert len(wrong.WRONG) == 27

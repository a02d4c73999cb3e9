"""Tasks that need much of a shared device's memory come last."""

import pytest

from kernelwright.bench import suite
from kernelwright.bench.processes import INTERRUPTED
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.judge.devices.environment import Here
from kernelwright.suites.suite import SuiteEntry
from kernelwright.workers.workers import Target

SIZES = (70, 10, {"what": "the search died"}, 90)
ENTRIES = [SuiteEntry("1", number, str(number), size) for number, size in enumerate(SIZES)]


@pytest.fixture(autouse=True)
def _on_a_shared_device(monkeypatch):
    monkeypatch.setattr(suite, "in_a_process", lambda work, size, *others, **how: size)


def answers(is_due=lambda entry: True):
    target = Target(Device("cuda"), Here("cuda:sm_90", {}), memory_bytes=100)
    with suite._sizes(ENTRIES, Settings(), target, None, is_due) as is_large:
        return [is_large(entry) for entry in ENTRIES]


def test_large_tasks_are_separated_and_unknown_sizes_count_as_small():
    assert answers() == [True, False, False, True]


def test_a_searched_task_is_not_sized():
    assert answers(lambda entry: entry.name == "3") == [False, False, False, True]


def test_an_interrupt_during_sizing_begins_no_search(monkeypatch):
    monkeypatch.setattr(suite, "in_a_process", lambda *given, **how: INTERRUPTED)
    assert answers() == [None] * 4

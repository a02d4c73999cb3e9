"""Tasks that need much of a shared device's memory come last."""

from types import SimpleNamespace

import pytest

from kernelwright.bench import suite
from kernelwright.bench.processes import INTERRUPTED
from kernelwright.core.settings import Settings
from kernelwright.suites.suite import SuiteEntry

SIZES = (50, 10, {"what": "the search died"}, 90)
ENTRIES = [SuiteEntry("1", number, str(number), size) for number, size in enumerate(SIZES)]


@pytest.fixture(autouse=True)
def _on_a_shared_device(monkeypatch):
    place = SimpleNamespace(most_judges=6, memory_bytes=lambda: 100)
    monkeypatch.setattr(suite, "resolve", lambda device: device)
    monkeypatch.setattr(suite, "backend_of", lambda device: place)
    monkeypatch.setattr(suite, "in_a_process", lambda work, size, *others: size)


def answers(is_due=lambda entry: True):
    with suite._sizes(ENTRIES, Settings(), None, is_due) as is_large:
        return [is_large(entry) for entry in ENTRIES]


def test_large_tasks_are_separated_and_unknown_sizes_count_as_small():
    assert answers() == [True, False, False, True]


def test_a_searched_task_is_not_sized():
    assert answers(lambda entry: entry.name == "3") == [False, False, False, True]


def test_an_interrupt_during_sizing_begins_no_search(monkeypatch):
    monkeypatch.setattr(suite, "in_a_process", lambda *given: INTERRUPTED)
    assert answers() == [None] * 4

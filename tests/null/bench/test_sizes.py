"""Tasks that need much of a shared device's memory come last."""

from types import SimpleNamespace

import pytest

from kernelwright.bench import suite
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


def parts(is_due=lambda entry: True) -> list[list[str]]:
    return [[e.name for e in part] for part in suite._by_size(ENTRIES, Settings(), None, is_due)]


def test_large_tasks_are_separated_and_unknown_sizes_count_as_small():
    assert parts() == [["1", "2"], ["0", "3"]]


def test_a_searched_task_is_not_sized():
    assert parts(lambda entry: entry.name == "3") == [["0", "1", "2"], ["3"]]


def test_an_interrupt_during_sizing_begins_no_search(monkeypatch):
    monkeypatch.setattr(suite, "side_by_side", lambda *work, **how: [False, None, None, None])
    with pytest.raises(KeyboardInterrupt):
        parts()

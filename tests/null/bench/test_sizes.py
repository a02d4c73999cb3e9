"""Tasks that need much of a shared device's memory run one at a time, and the largest last."""

import pytest

from kernelwright.bench import suite
from kernelwright.bench.order import Order
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
    with suite._sizes(ENTRIES, Settings(), target, None, is_due) as share_of:
        return [share_of(entry) for entry in ENTRIES]


def test_unknown_sizes_count_as_small():
    assert answers() == [0.7, 0.1, 0.0, 0.9]


def test_a_searched_task_is_not_sized():
    assert answers(lambda entry: entry.name == "3") == [0.0, 0.0, 0.0, 0.9]


def test_an_interrupt_during_sizing_begins_no_search(monkeypatch):
    monkeypatch.setattr(suite, "in_a_process", lambda *given, **how: INTERRUPTED)
    assert answers() == [None] * 4


SHARES = {"a": 0.1, "B": 0.5, "C": 0.5, "H": 0.9, "d": 0.1, "e": None, "f": 0.1}


def ordered(n_large=1):
    entries = [SuiteEntry("1", number, name, None) for number, name in enumerate(SHARES)]
    return Order(entries, lambda entry: SHARES[entry.name], n_large)


def told(piece):
    return piece and piece.entry.name + ("" if piece.is_search else "?")


def test_one_large_task_runs_beside_small_ones_and_a_huge_one_comes_last():
    order = ordered()
    begun = [order.take() for _ in range(4)]
    assert [*map(told, begun)] == ["a", "B", "d", "f"]
    order.end(begun[1])
    begun.append(order.take())
    assert told(begun[-1]) == "C"
    order.end(begun[-1])
    assert [told(order.take()) for _ in range(3)] == ["H?", "H", None]


def test_large_tasks_go_on_where_nothing_else_is_left():
    order = ordered()
    assert [told(order.take()) for _ in range(7)] == ["a", "B", "d", "f", "C", "H?", "H"]
    assert order.take() is None


def test_each_gpu_may_have_a_large_task():
    order = ordered(n_large=2)
    assert [told(order.take()) for _ in range(4)] == ["a", "B", "C", "d"]

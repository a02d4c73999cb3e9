"""Which GPU a child sees, from what its judge sees."""

import pytest

from kernelwright.judge.devices import gpu


@pytest.mark.parametrize("seen, index, alone", [("2,3", 1, "3"), ("GPU-a, GPU-b", 1, "GPU-b")])
def test_a_child_sees_one_of_those_that_the_user_left_visible(monkeypatch, seen, index, alone):
    monkeypatch.setenv(gpu.VISIBLE, seen)
    assert gpu.visible_as(index) == alone


def test_a_child_sees_one_of_all_by_its_own_name(monkeypatch):
    monkeypatch.delenv(gpu.VISIBLE, raising=False)
    monkeypatch.setattr(gpu, "unit", lambda index: f"GPU-{index}")
    assert gpu.visible_as(2) == "GPU-2"

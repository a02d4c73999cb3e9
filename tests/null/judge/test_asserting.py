"""Operators that assert on a GPU are known by what modules call."""

from __future__ import annotations

import pytest
import torch
from tests.null.judge.asserting_calls import CALLS

from kernelwright.judge.reference.asserting import HostFirst


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_may_assert_is_met(name):
    guard = HostFirst("cuda")
    with guard(), torch.no_grad():
        CALLS[name](torch.rand(4, 5) * 0.9, torch.arange(4))
    assert guard.has_met


def test_a_task_that_has_none_is_no_longer_watched():
    guard = HostFirst("cuda")
    with guard():
        torch.rand(4, 5).softmax(-1)
    guard.settle()
    with guard():
        torch.rand(4, 5).gather(1, torch.zeros(4, 1, dtype=torch.long))
    assert not guard.has_met


@pytest.mark.parametrize("name", CALLS)
def test_what_would_be_asserted_is_raised_on_the_host(name):
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        CALLS[name](torch.rand(4, 5) - 3, torch.arange(4) + 4000)

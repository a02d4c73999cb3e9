"""While results are checked, memory that nobody has written to is not zero."""

import pytest
import torch

from kernelwright.judge.sandbox import fresh_memory

CPU = torch.device("cpu")


@pytest.fixture
def poisoned():
    fresh_memory.begin_filling(CPU, 0)
    yield
    fresh_memory.end_filling()


@pytest.mark.parametrize("size", [1000, 1 << 24])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_new_memory_holds_large_numbers_that_zero_makes_zero(poisoned, dtype, size):
    new = torch.empty(size, dtype=dtype)
    assert new.min() > 1e4
    assert (new * 0).eq(0).all()


def test_memory_that_is_asked_to_be_zero_is_zero(poisoned):
    assert torch.zeros(1 << 20).eq(0).all()


def test_memory_is_not_filled_any_more(poisoned):
    fresh_memory.end_filling()
    assert not (torch.empty(1 << 26) > 1e4).all()

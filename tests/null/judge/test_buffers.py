"""Buffers of one number become others, and quantised ones those of another construction."""

import pytest
import torch

from kernelwright.judge.inputs.buffers import with_other_codes
from kernelwright.judge.inputs.weights import randomised

X = torch.randn(8, 64)


def changed(buffer, run=lambda one: one(X)):
    module = torch.nn.LayerNorm(64)
    module.register_buffer("buffer", buffer)
    return randomised(module, 7, run).buffer


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_tables_of_ones_get_other_numbers_and_noughts(dtype):
    found = changed(torch.ones(64, 32, dtype=dtype)).real
    assert 0.05 < float((found == 0).float().mean()) < 0.2 and bool((found != 1).all())


def test_tables_of_noughts_get_other_numbers_and_ones():
    found = changed(torch.zeros(4, 64, 64))
    assert 0.05 < float((found == 1).float().mean()) < 0.2 and bool((found != 0).all())


def test_what_divides_gets_no_noughts():
    found = changed(torch.ones(64, 32), lambda one: one(X) @ (1 / one.buffer))
    assert bool((found != 0).all() and (found != 1).all())


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int32, torch.int64])
def test_some_whole_numbers_become_others(dtype):
    for buffer in (torch.ones(64, 32, dtype=dtype), torch.zeros(64, 1, dtype=dtype)):
        found = changed(buffer)
        assert found.dtype == dtype and 0 < float((found != buffer).float().mean()) < 0.3


def test_indices_stay_in_range():
    table = torch.randn(2, 64)
    found = changed(torch.zeros(64, dtype=torch.int64), lambda one: one(table[one.buffer]))
    assert found.max() == 1 and found.min() == 0


def test_filters_counters_masks_and_other_tables_stay():
    for buffer in (
        torch.ones(1, 1, 3, 3),
        torch.ones(64, 1, 5, 5),
        torch.ones(3, 3, dtype=torch.bool),
        torch.tensor(0),
        torch.tensor(True),
        torch.full((64, 32), 0.5),
        torch.ones(64, 64).tril(),
        torch.zeros(0, 64),
    ):
        assert torch.equal(changed(buffer), buffer)


class Coded(torch.nn.Module):
    def __init__(self, n=256):
        super().__init__()
        table = torch.randperm(n)
        self.register_buffer("table", table.to(torch.uint8))
        self.register_buffer("inverse", table.argsort().to(torch.uint8))
        self.register_buffer("offsets", torch.tensor([-1, 0, 1], dtype=torch.int8))


def test_codes_of_another_construction_fit_together():
    module = Coded()
    twin = with_other_codes(module, Coded, lambda one: True)
    assert not torch.equal(twin.table, module.table)
    assert torch.equal(twin.inverse[twin.table.int()].int(), torch.arange(256))
    assert twin.offsets.tolist() == [-1, 0, 1]
    assert with_other_codes(module, Coded, lambda one: False) is module
    assert with_other_codes(module, lambda: module, lambda one: True) is module


def test_codes_stay_beside_a_table_that_nobody_is_given():
    def made():
        module = Coded()
        module.register_buffer("own", torch.randn(4), persistent=False)
        return module

    module = made()
    assert with_other_codes(module, made, lambda one: True) is module

"""Buffers of one number become others, and drawn ones those of another construction."""

from functools import partial

import pytest
import torch

from kernelwright.judge.perturb.buffers import with_other_buffers
from kernelwright.judge.perturb.weight_sets import randomised

X = torch.randn(8, 64)


def changed(buffer, run=lambda one: one(X)):
    module = torch.nn.LayerNorm(64)
    module.register_buffer("buffer", buffer)
    return randomised(module, 7, run).buffer


@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_tables_of_ones_get_other_numbers_and_zeros(dtype):
    found = changed(torch.ones(64, 32, dtype=dtype)).real
    assert 0.05 < float((found == 0).float().mean()) < 0.2 and bool((found != 1).all())


def test_tables_of_zeros_get_other_numbers_and_ones():
    found = changed(torch.zeros(4, 64, 64))
    assert 0.05 < float((found == 1).float().mean()) < 0.2 and bool((found != 0).all())


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


def test_buffers_of_another_construction_fit_together():
    module = Coded()
    twin = with_other_buffers(module, Coded, lambda one: True)
    assert not torch.equal(twin.table, module.table)
    assert torch.equal(twin.inverse[twin.table.int()].int(), torch.arange(256))
    assert twin.offsets.tolist() == [-1, 0, 1]
    assert with_other_buffers(module, Coded, lambda one: False) is module
    assert with_other_buffers(module, lambda: module, lambda one: True) is module


def test_drawn_buffers_stay_beside_a_table_that_nobody_is_given():
    def made():
        module = Coded()
        module.register_buffer("own", torch.randn(4), persistent=False)
        return module

    module = made()
    assert with_other_buffers(module, made, lambda one: True) is module


@pytest.mark.parametrize(
    "drawn",
    [
        partial(torch.randint, 2**31, (64, 8), dtype=torch.int32),  # codes, packed
        partial(torch.randn, 64, 8),
        partial(torch.randperm, 64),
        lambda: torch.rand(64, 8) < 0.5,
    ],
)
def test_what_is_drawn_anew_is_what_another_construction_draws(drawn):
    def made():
        module = torch.nn.LayerNorm(64)
        module.register_buffer("drawn", drawn())
        module.register_buffer("known", torch.ones(64, 64).tril())
        return module

    module = made()
    twin = with_other_buffers(module, made, lambda one: True)
    assert not torch.equal(twin.drawn, module.drawn) and torch.equal(twin.known, module.known)


def test_buffers_stay_where_another_construction_has_other_shapes():
    """A sparse matrix' columns, without the rows that belong to them, would be out of bounds."""

    sizes = iter((40, 50))

    def made():
        module = torch.nn.LayerNorm(64)
        module.register_buffer("rows", torch.randint(64, (next(sizes),)))
        module.register_buffer("starts", torch.randint(40, (65,)))
        return module

    module = made()
    assert with_other_buffers(module, made, lambda one: True) is module


def test_what_running_has_written_stays():
    """A flag that is put back would have a module begin anew, in its next call."""

    def made():
        module = torch.nn.BatchNorm1d(64)
        module.register_buffer("has_begun", torch.tensor(False))
        module.register_buffer("drawn", torch.randn(64))
        return module

    module = made()
    module(X)
    module.has_begun.fill_(True)
    twin = with_other_buffers(module, made, lambda one: True)
    assert torch.equal(twin.running_mean, module.running_mean) and bool(twin.has_begun)
    assert not torch.equal(twin.drawn, module.drawn)


def test_nothing_is_made_anew_for_buffers_of_one_number():
    def never():
        raise AssertionError

    module = torch.nn.BatchNorm1d(64)
    assert with_other_buffers(module, never, lambda one: True) is module

"""References with products of narrow types alone have a result in float64."""

from __future__ import annotations

import pytest
import torch

from kernelwright.judge.reference.narrow_products import NarrowProducts, scaled
from kernelwright.loaders import open_reference
from kernelwright.suites.suite import MODELS, builtin_suite


@torch.no_grad()
@pytest.mark.parametrize("name", ["moe_grouped", "narrow_float8_rows"])
def test_grouped_and_scaled_products_take_float64(name):
    (task,) = (e.task for e in builtin_suite(size="small", suite=MODELS) if e.name == name)
    reference = open_reference(task)
    module, inputs = reference.build(0), reference.inputs(0)
    own = module(*inputs)
    wide = [x.double() if x.is_floating_point() else x for x in inputs]
    for part in (*module.parameters(), *module.buffers()):
        part.data = part.data.double() if part.is_floating_point() else part.data
    with NarrowProducts():
        exact = module(*wide)
    error = (own.double() - exact.double()).abs().max() / exact.double().abs().max()
    assert 0 < error < 0.02


def test_a_block_s_scales_are_not_taken_for_columns_though_there_are_as_many():
    a, b = torch.ones(2, 16384, dtype=torch.float64), torch.ones(16384, 128, dtype=torch.float64)
    one, blocks, columns = torch.ones(()), torch.ones(128, 1), torch.ones(1, 128)
    assert torch.equal(scaled(a, b, one, 2 * columns), 2 * (a @ b))
    with pytest.raises(NotImplementedError, match="blocks"):
        scaled(a, b, one, blocks)
    with pytest.raises(NotImplementedError, match="result"):
        scaled(a, b, one, columns, None, one)

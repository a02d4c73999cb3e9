"""Of products that are taken from each other, each is rounded: equal ones leave nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernelwright.propose.rules.assemble import assemble_supported
from kernelwright.propose.rules.capture import capture
from kernelwright.propose.rules.emit.base import Target
from kernelwright.propose.rules.emit.cuda import CudaEmitter
from kernelwright.propose.rules.emit.triton import TritonEmitter
from kernelwright.propose.rules.fuse import Fusion

GPU = Target("cuda:sm_90")


class Divergence(nn.Module):
    def forward(self, x, y):
        return nn.functional.kl_div(torch.log(x), y, reduction="batchmean")


class Rotated(nn.Module):
    def forward(self, x, y):
        return x * torch.cos(y) - y * torch.sin(y)


class Plain(nn.Module):
    def forward(self, x, y):
        return x * y - torch.exp(y)


def every_text(emitter, module):
    """What it emits for every schedule: kernels and launches."""
    inputs = [torch.rand(64, 4096), torch.rand(64, 4096)]
    program = assemble_supported(capture(module, inputs), Fusion(), emitter.supports, products=True)
    for schedule in emitter.schedules(program, GPU):
        emitted = emitter.emit(program, schedule, GPU)
        yield emitted.definitions, "\n".join(emitted.launches.values())


@pytest.mark.parametrize(
    ("module", "is_apart"), [(Divergence(), True), (Rotated(), True), (Plain(), False)]
)
def test_products_that_may_cancel_are_rounded_apart(module, is_apart):
    for _, launches in every_text(TritonEmitter(), module):
        assert ("enable_fp_fusion=False" in launches) == is_apart
    for kernels, _ in every_text(CudaEmitter(), module):
        assert kernels.count("__fmul_rn(") == (2 if is_apart else 0)


def test_wide_products_are_rounded_wide():
    inputs = [torch.rand(64, 4096, dtype=torch.float64) for _ in range(2)]
    emitter = CudaEmitter()
    program = assemble_supported(
        capture(Rotated(), inputs), Fusion(), emitter.supports, products=True
    )
    schedule = next(iter(emitter.schedules(program, GPU)))
    assert emitter.emit(program, schedule, GPU).definitions.count("__dmul_rn(") == 2

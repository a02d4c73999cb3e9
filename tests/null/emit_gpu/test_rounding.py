"""Of products that are taken from each other, each is rounded: equal ones leave nothing."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cuda.emitter import CudaEmitter
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion

GPU = Target("cuda:sm_90")


class Divergence(nn.Module):
    def forward(self, x, y):
        return nn.functional.kl_div(torch.log(x), y, reduction="batchmean")


class Rotated(nn.Module):
    def forward(self, x, y):
        return x * torch.cos(y) - y * torch.sin(y)


class Scaled(nn.Module):
    """At the maximum what e is raised to is the product less itself, rounded."""

    def forward(self, x, y):
        return torch.softmax(x * 0.3, -1)


class Plain(nn.Module):
    def forward(self, x, y):
        return x * y - torch.exp(y)


INPUTS = [torch.rand(64, 4096), torch.rand(64, 4096)]


def every_text(emitter, module, inputs=INPUTS):
    """What it emits for every schedule: kernels and launches."""
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


@pytest.mark.parametrize("rows", [4, 256])
def test_a_product_less_its_own_maximum_is_rounded(rows):
    """Also where another kernel finds the maximum: few rows are cut into parts."""
    inputs = [torch.rand(rows, 40000), torch.rand(1)]
    for _, launches in every_text(TritonEmitter(), Scaled(), inputs):
        assert "enable_fp_fusion=False" in launches.split("](")[-1]
    for kernels, _ in every_text(CudaEmitter(), Scaled(), inputs):
        assert "__fmul_rn(" in kernels.split("__global__")[-1]


def test_wide_products_are_rounded_wide():
    inputs = [torch.rand(64, 4096, dtype=torch.float64) for _ in range(2)]
    emitter = CudaEmitter()
    program = assemble_supported(
        capture(Rotated(), inputs), Fusion(), emitter.supports, products=True
    )
    schedule = next(iter(emitter.schedules(program, GPU)))
    assert emitter.emit(program, schedule, GPU).definitions.count("__dmul_rn(") == 2

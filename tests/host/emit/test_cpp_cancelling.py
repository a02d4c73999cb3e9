"""What is zero in PyTorch, since both sides of a difference were rounded alike, is zero in C++."""

import pytest
import torch
from tests.emitters import build, source
from tests.host.emit.running import TARGET
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.cpp.emitter import CppEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion

EMITTER = CppEmitter()


def every_result(module, inputs):
    """Return the results of the C++ of every schedule in a first round."""
    program = assemble_supported(capture(module, inputs), Fusion(), EMITTER.supports, products=True)
    for schedule in EMITTER.schedules(program, TARGET):
        forward = build(source(program, EMITTER.emit(program, schedule, TARGET)))
        yield forward(*inputs)[0]


class Difference(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x, y):
        return (torch.softmax(x, self.dim) - torch.softmax(y, self.dim),)


class Exponents(nn.Module):
    """Return the exponent of a softmax of scaled values: zero at the maximum."""

    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        scaled = x * 0.3
        return (scaled - scaled.amax(self.dim, keepdim=True),)


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(37, 515), (3, 40000)])
def test_equal_softmaxes_cancel_to_zero(shape, dim):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    for result in every_result(Difference(dim), [x, x.clone()]):
        assert not result.any()


@pytest.mark.parametrize("dim", [0, 1])
@pytest.mark.parametrize("shape", [(37, 515), (3, 40000)])
def test_a_scaled_value_less_its_maximum_is_zero_there(shape, dim):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    for result in every_result(Exponents(dim), [x]):
        assert not result.amax(dim).any()
        assert torch.equal(result == 0, Exponents(dim)(x)[0] == 0)

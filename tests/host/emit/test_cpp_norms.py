"""Norms in emitted C++: rows of equal values give zero, and a large mean costs no digits."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.emitters import build, source
from torch import nn
from torch.nn import functional

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.base import Target
from kernelwright.compiler.codegen.cpp.emitter import CppEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion

EMITTER = CppEmitter()
SHAPE = (4, 6, 31, 35)
"""Row lengths that are not a multiple of the lanes."""


class Norm(nn.Module):
    def __init__(self, norm):
        super().__init__()
        self.norm = norm

    def forward(self, x):
        return (self.norm(x),)


def by_channel(x):
    """Batch norm, without statistics that it keeps."""
    variance, mean = torch.var_mean(x, (0, 2, 3), correction=0, keepdim=True)
    return (x - mean) * torch.rsqrt(variance + 1e-5)


NORMS = {
    "instance": lambda x: functional.instance_norm(x),
    "group": lambda x: functional.group_norm(x, 2),
    "layer": lambda x: functional.layer_norm(x, x.shape[2:]),
    "batch": by_channel,
    "columns": lambda x: functional.layer_norm(x.permute(0, 2, 3, 1), (6,)),
    "variance": lambda x: x.var((0, 2, 3)),
    "of a scaled value": lambda x: functional.instance_norm(x * 0.3),
}


@pytest.fixture(scope="module", params=[1, 2], ids=["one thread", "two threads"])
def compiled(request):
    """Return norm → the C++ of every schedule in a first round."""
    target, made = Target("cpu", request.param), {}
    for name, norm in NORMS.items():
        captured = capture(Norm(norm), [torch.rand(SHAPE)])
        program = assemble_supported(captured, Fusion(), EMITTER.supports, products=True)
        schedules = list(EMITTER.schedules(program, target))
        made[name] = [build(source(program, EMITTER.emit(program, s, target))) for s in schedules]
    return made


@given(value=st.floats(-(2.0**100), 2.0**100, width=32))
@settings(max_examples=25)
def test_equal_values_have_exactly_their_mean_and_no_variance(compiled, value):
    x = torch.full(SHAPE, value)
    for name, forwards in compiled.items():
        for forward in forwards:
            assert not forward(x)[0].any(), name


@pytest.mark.parametrize("mean", [0.0, 1e3, -1e5])
def test_a_large_mean_costs_no_more_than_the_library_pays(compiled, mean):
    x = torch.randn(SHAPE, generator=torch.Generator().manual_seed(0)) + mean
    for name, forwards in compiled.items():
        exact = NORMS[name](x.double())
        allowed = 1.5 * (NORMS[name](x) - exact).abs().max() + 4 * 2.0**-24 * exact.abs().max()
        for forward in forwards:
            assert (forward(x)[0] - exact).abs().max() <= allowed, name

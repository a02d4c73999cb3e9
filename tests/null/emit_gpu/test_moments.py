"""Convolutions that begin the statistics of a batch norm: what they mean, and when they do."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.gpu.moments import with_moments
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Call, Contraction, Kernel, Program
from kernelwright.compiler.rewrite import BIASES, IMAGES_TOO, RULES, rewrite

LAST = (*RULES, *BIASES, *IMAGES_TOO)


class Block(nn.Module):
    """Two convolutions with batch norms, the second one applied where its statistics are made."""

    def __init__(self, channels: int, stride: int, dilation: int, *, affine: bool = True) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, channels, 3, stride, dilation, dilation, bias=False)
        self.norm = nn.BatchNorm2d(channels, affine=affine)
        self.second = nn.Conv2d(channels, 16, 1)
        self.other = nn.BatchNorm2d(16)

    def forward(self, x):
        x = torch.relu(self.norm(self.first(x)))
        return self.other(self.second(x))


def assembled(module: nn.Module, x: torch.Tensor, **options: bool) -> Program:
    captured, _ = rewrite(capture(module, [x]), LAST)
    fusion = Fusion(moments=True, **options)
    supports = TritonEmitter().supports
    products = "narrow" not in options
    return assemble_supported(captured, fusion, supports, products=products, finish=with_moments)


@pytest.mark.parametrize(
    ("channels", "stride", "dilation", "affine"),
    [(16, 1, 1, True), (24, 2, 1, False), (32, 1, 2, True)],
)
def test_statistics_begun_by_convolutions_are_the_modules(channels, stride, dilation, affine):
    torch.manual_seed(0)
    module = Block(channels, stride, dilation, affine=affine)
    x = torch.randn(3, 3, 19, 13) * 3.0 + 5.0
    program = assembled(module, x)
    convolutions = [step for step in program.own() if isinstance(step, Contraction)]
    assert [len(step.part_totals) for step in convolutions] == [2, 2]
    n_rows = convolutions[0].writes[0].n_elements // channels
    images = {t.name for step in convolutions for t in step.writes if len(t.shape) == 5}
    reduced = [k for k in program.own() if isinstance(k, Kernel) and k.inner]
    assert all(axis.size < n_rows for kernel in reduced for axis in kernel.inner)
    assert images, "results of convolutions are images"
    state = {name: value.clone() for name, value in module.state_dict().items()}
    wanted = copy.deepcopy(module)(x)
    torch.testing.assert_close(interpret(program, [x], state), wanted, rtol=1e-4, atol=1e-4)
    module(x)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(state[name], value, rtol=1e-5, atol=1e-5)


def test_equal_values_have_no_variance():
    module, x = Block(16, 1, 1), torch.full((3, 3, 19, 13), 0.1)
    module.first.weight.data[:, :, [0, 0, 0, 1, 1, 2, 2, 2], [0, 1, 2, 0, 2, 0, 1, 2]] = 0.0
    program = assembled(module, x)
    state = {name: value.clone() for name, value in module.state_dict().items()}
    found = interpret(program, [x], state)
    torch.testing.assert_close(found, module(x), rtol=1e-4, atol=1e-4)
    assert state["norm.running_var"].sub(0.9).abs().max() < 1e-6


def test_a_norm_in_evaluation_needs_no_statistics():
    program = assembled(Block(16, 1, 1).eval(), torch.randn(3, 3, 19, 13))
    convolutions = [step for step in program.own() if isinstance(step, Contraction)]
    assert convolutions and not any(step.part_totals for step in convolutions)


def test_only_convolutions_at_which_the_library_is_slow_are_own_code():
    layers = nn.Sequential(nn.Conv2d(3, 64, 3), nn.Conv2d(64, 64, 3), nn.Conv2d(64, 32, 3))
    program = assembled(layers, torch.randn(2, 3, 80, 80), narrow=True)
    called = [
        s.outputs[0].shape[1] for s in program.steps if isinstance(s, Call) and "conv" in s.target
    ]
    own = [step.n[0].size for step in program.own() if isinstance(step, Contraction)]
    assert (own, called) == ([64, 32], [64])
    small = assembled(layers, torch.randn(2, 3, 40, 40), narrow=True)
    assert not [step for step in small.own() if isinstance(step, Contraction)]


def test_a_batch_norm_trains_in_bfloat16():
    module = nn.Sequential(nn.Conv2d(3, 16, 3), nn.BatchNorm2d(16), nn.ReLU()).to(torch.bfloat16)
    x = torch.randn(2, 3, 9, 9).to(torch.bfloat16)
    program = assembled(module, x)
    assert any("batch_norm" in step.origin for step in program.own())
    state = {name: value.clone() for name, value in module.state_dict().items()}
    wanted = copy.deepcopy(module)(x)
    torch.testing.assert_close(interpret(program, [x], state), wanted, rtol=0.02, atol=0.02)
    module(x)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(state[name], value, rtol=0.01, atol=0.01)

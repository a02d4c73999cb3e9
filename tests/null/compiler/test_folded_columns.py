"""A convolution's kernel reduces over its channels, where a tile has all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Contraction, Program


class Convolved(nn.Module):
    """A convolution, and a function of its result."""

    def __init__(self, convolution: nn.Module, function) -> None:
        super().__init__()
        self.convolution, self.function = convolution, function
        self.shift = nn.Parameter(torch.randn(1, 1, 1))

    def forward(self, x):
        return self.function(self.convolution(x), self.shift)


def least_of_channels(x, shift):
    return nn.functional.gelu(x.min(1, keepdim=True)[0].sum(2, keepdim=True)) + shift


def shares(x, shift):
    return torch.sigmoid(torch.softmax(x, 1) * 2.0 + shift)


def standard(x, shift):
    return (x - x.mean(1, keepdim=True)) * (x.var(1, keepdim=True) + 1e-3).rsqrt() + shift


def log_total(x, shift):
    return torch.logsumexp(x, 1, keepdim=True).relu() - shift


TRANSPOSED = nn.ConvTranspose2d(4, 24, 4, 2, 1, output_padding=1)
PLAIN = nn.Conv2d(4, 20, 3, padding=1, bias=False)
PADDED = nn.Sequential(nn.ConstantPad3d((0, 0, 0, 0, 2, 10), 0.0), nn.Conv2d(16, 20, 3, groups=2))
CASES = {
    "least of channels": (TRANSPOSED, least_of_channels, 2),
    "shares": (TRANSPOSED, shares, 1),
    "standard": (PLAIN, standard, 2),
    "log of a total": (PLAIN, log_total, 1),
}
GROUPED = {"channels of padding, in groups": (PADDED, least_of_channels, 2)}
"""Cases whose tiles have not all channels, so that another kernel reduces over them."""
FOLDING = Fusion(folded_columns=128)
X = torch.randn(2, 4, 7, 6)


def program_of(name: str, fusion: Fusion) -> tuple[nn.Module, Program]:
    convolution, function, _ = (CASES | GROUPED)[name]
    module = Convolved(convolution, function)
    captured = capture(module, [X])
    return module, assemble_supported(captured, fusion, TritonEmitter().supports, products=True)


def with_weights(name: str) -> tuple[Program, list[torch.Tensor]]:
    """The program of a case with its weights as inputs, and the inputs."""
    module, program = program_of(name, FOLDING)
    weights = dict(module.state_dict())
    inputs = (*program.inputs, *(tensor for tensor, _ in program.attributes))
    given = [X, *(weights[path] for _, path in program.attributes)]
    return replace(program, inputs=inputs, attributes=(), outputs=(program.outputs,)), given


@pytest.mark.parametrize("name", CASES)
def test_it_means_what_the_module_does(name):
    module, program = program_of(name, FOLDING)
    with torch.no_grad():
        seen = interpret(program, [X], dict(module.state_dict()))
        torch.testing.assert_close(seen, module(X), rtol=1e-4, atol=1e-4)
    assert len(program.steps) == CASES[name][2]
    (step,) = (step for step in program.steps if isinstance(step, Contraction))
    assert step.folds


@pytest.mark.parametrize("columns", [0, 16])
def test_channels_that_do_not_fit_a_tile_are_reduced_by_another_kernel(columns):
    _, program = program_of("shares", Fusion(folded_columns=columns))
    assert not any(isinstance(step, Contraction) and step.folds for step in program.steps)
    assert any(isinstance(step, Contraction) for step in program.steps)

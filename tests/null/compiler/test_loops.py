"""Loops over time become scans, and operands of thin products are computed where they are read."""

from __future__ import annotations

import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret
from kernelwright.compiler.ir.ir import Contraction, Program, Scan


class Loop(nn.Module):
    """A state that decays, with a first state that is given or zero, and what is read from it."""

    def forward(self, kept, added, read, start=None):
        state = torch.zeros_like(added[:, 0]) if start is None else start
        found = []
        for t in range(added.shape[1]):
            state = kept[:, t] * state + added[:, t] * 2.0
            found.append((state * read[:, t]).sum(-1, keepdim=True))
        return torch.stack(found, dim=1), state


class Clipped(nn.Module):
    """A loop whose state is not linear in the one before."""

    def forward(self, kept, added):
        state, found = added[0], []
        for t in range(added.shape[0]):
            state = torch.tanh(kept[t] * state + added[t])
            found.append(state)
        return torch.stack(found)


def program_of(module: nn.Module, *inputs: torch.Tensor) -> Program:
    captured = capture(module, inputs)
    return assemble_supported(captured, Fusion(), lambda step: True, products=True)


def check(module: nn.Module, *inputs: torch.Tensor) -> Program:
    program = program_of(module, *inputs)
    weights = dict(module.named_parameters()) | dict(module.named_buffers())
    found = interpret(program, inputs, weights)
    torch.testing.assert_close(found, module(*inputs), rtol=1e-5, atol=1e-5)
    return program


def n_scans(program: Program) -> int:
    kernels = [step for step in program.own() if not isinstance(step, Contraction)]
    return sum(isinstance(op, Scan) for kernel in kernels for op in kernel.body)


@torch.no_grad()
def test_a_loop_over_time_is_one_scan_from_zero_or_from_a_given_state() -> None:
    inputs = [torch.rand(2, 12, 5) for _ in range(3)]
    for given in (inputs, [*inputs, torch.rand(2, 5)]):
        program = check(Loop(), *given)
        assert n_scans(program) == 1 and len(program.steps) < 8


@torch.no_grad()
def test_a_loop_that_is_not_linear_stays_as_it_is() -> None:
    assert n_scans(check(Clipped(), torch.rand(10, 4), torch.rand(10, 4))) == 0


class Packed(nn.Module):
    """A product with weights of four bits, two in a byte."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("packed", torch.randint(0, 256, (24, 16), dtype=torch.uint8))
        self.register_buffer("scales", torch.rand(24, 4, 1))

    def forward(self, x):
        halves = torch.stack((self.packed & 15, self.packed >> 4), dim=-1).view(24, 4, 8)
        return nn.functional.linear(x, ((halves.to(x.dtype) - 8) * self.scales).flatten(1))


class Chosen(nn.Module):
    """Products with the weights that each token has chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.weights = nn.Parameter(torch.rand(6, 8, 16))

    def forward(self, x, which):
        return torch.einsum("td,tcdh->tch", x, self.weights[which])


@torch.no_grad()
def test_the_other_operand_of_few_rows_is_computed_where_it_is_read() -> None:
    for rows, n_steps in ((1, 1), (4, 1), (5, 2)):
        assert len(check(Packed(), torch.rand(rows, 32)).steps) == n_steps
    assert len(check(Chosen(), torch.rand(3, 8), torch.randint(0, 6, (3, 2))).steps) == 1

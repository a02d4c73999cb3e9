"""Tensors that a forward makes from Python numbers are part of the captured graph."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from kernelwright.compiler.capture.capture import CannotCapture, capture
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.fuse.fuse import Fusion
from kernelwright.compiler.ir.interpret import interpret


class Constant(nn.Module):
    """Adds a constant that forward makes."""

    def __init__(self, numbers: list, **options) -> None:
        super().__init__()
        self.numbers, self.options = numbers, options

    def forward(self, x):
        return x + torch.tensor(self.numbers, **self.options)


class HeadOfEach(nn.Module):
    """Takes the head of keys that each head of queries reads."""

    def forward(self, keys):
        return keys.index_select(1, torch.tensor([head // 3 for head in range(12)]))


class ThroughTheHost(nn.Module):
    """Reads indices as Python numbers and makes a tensor of them again."""

    def forward(self, states, indices):
        chosen = torch.tensor(indices.tolist(), dtype=torch.long)
        return states.index_select(0, chosen) * 2.0


class InAList(nn.Module):
    """Adds a tensor of a list, which nobody sees change."""

    def __init__(self):
        super().__init__()
        self.shifts = [torch.tensor([1.0, 1.0])]

    def forward(self, x):
        return x + self.shifts[0].clone()


OUTSIDE = torch.tensor([2.0, 2.0])


class FromOutside(nn.Module):
    """Adds a tensor of the file."""

    def forward(self, x):
        return x + OUTSIDE


class AsAttribute(nn.Module):
    """Adds a tensor that is an attribute."""

    def __init__(self):
        super().__init__()
        self.shift = torch.tensor([1.0, 1.0])

    def forward(self, x):
        return x + self.shift


def check(module: nn.Module, *inputs: torch.Tensor) -> None:
    program = assemble_supported(
        capture(module, inputs), Fusion(), lambda step: True, products=True
    )
    found = interpret(program, inputs, {})
    torch.testing.assert_close(found, module(*inputs))


@pytest.mark.parametrize(
    "module",
    [
        Constant([3, 3, 5, 5, 7, 7]),
        Constant([6, 5, 4, 3, 2, 1]),
        Constant([0.25, 0.25, 0.5, -1.0, 8.0, 8.0]),
        Constant([[1, 2, 2], [9, 0, 1]]),
        Constant([2.5]),
        Constant([[float("inf")], [-1.0]], dtype=torch.float64),
    ],
    ids=["repeated", "descending", "numbers", "table", "one", "double"],
)
def test_a_constant_of_a_few_numbers_is_right(module):
    rows = 2 if isinstance(module.numbers[0], list) else 1
    check(module, torch.randn(rows, 3) if rows == 2 else torch.randn(4, 6))


def test_the_head_of_each_head_is_right():
    check(HeadOfEach(), torch.randn(2, 4, 5))


def test_many_different_numbers_are_refused_with_a_way_out():
    numbers = torch.rand(17).tolist()
    with pytest.raises(CannotCapture, match="a buffer with them can be captured"):
        capture(Constant(numbers), [torch.randn(17)])


def test_indices_that_are_read_as_numbers_and_made_a_tensor_again_stay_a_tensor():
    check(ThroughTheHost(), torch.randn(5, 4), torch.tensor([3, 0, 3], dtype=torch.int32))


@pytest.mark.parametrize("module", [InAList(), FromOutside()], ids=["list", "file"])
def test_a_tensor_whose_changes_nobody_notices_is_refused_with_a_way_out(module):
    with pytest.raises(CannotCapture, match="parameters, buffers or attributes can be captured"):
        capture(module, [torch.randn(2)])
    assert [*capture(AsAttribute(), [torch.randn(2)]).attributes.values()] == ["shift"]

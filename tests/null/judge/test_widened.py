"""Modules that are copied, widened and counted whatever they hold and do."""

import torch
from torch import nn

from kernelwright.judge.reference.widened import NAMINGS, in_float64, run_in_float64
from kernelwright.judge.sandbox.flop_count import counting_flops
from kernelwright.loaders.copies import copied


class Table(nn.Module):
    def __init__(self):
        super().__init__()
        self.numbers = torch.arange(4.0)  # no buffer
        self.weight = nn.Parameter(torch.ones(4))

    def forward(self, x):
        return x * self.numbers * self.weight


def test_a_tensor_that_is_a_plain_attribute_is_widened_too():
    module = Table()
    found = in_float64(module)(torch.ones(4, dtype=torch.float64))
    assert found.dtype == torch.float64 and torch.equal(found, torch.arange(4.0).double())
    assert module.numbers.dtype == torch.float32


def test_float32_that_is_named_is_widened_and_what_looks_at_bits_is_not():
    class Angles(nn.Module):
        def forward(self, positions):
            return (positions.float() * torch.full((), 0.1, dtype=torch.float32)).cos()

    class Bits(nn.Module):
        def forward(self, x):
            return x.to(torch.float32).view(torch.int32)

    positions, x = torch.arange(9000), torch.rand(4, dtype=torch.float64)
    found = run_in_float64(Angles(), lambda module: module(positions))
    assert torch.equal(found, (positions.double() * 0.1).cos())
    run = lambda module: module(x)  # noqa: E731
    assert run_in_float64(Bits(), run).shape == (8,)  # of another shape: the next is asked for
    assert run_in_float64(Bits(), run, NAMINGS[2:]).shape == (4,)


def test_narrow_types_that_are_named_are_widened():
    class Mixed(nn.Linear):
        def forward(self, x):
            narrow = x.to(torch.float16) + x.half() + x.bfloat16()
            return narrow.to(self.weight.dtype) @ self.weight.bfloat16().to(dtype=torch.float16)

    module, x = Mixed(4, 4), torch.rand(4, 4, dtype=torch.float64)
    found = run_in_float64(module, lambda module: module(x))
    assert torch.allclose(found, 3 * x @ module.weight.double(), rtol=1e-14)
    rounded = run_in_float64(Table(), lambda _: x.bfloat16().double(), NAMINGS[1:])
    assert torch.equal(rounded, x.bfloat16().double())


def test_a_weight_that_is_computed_from_others_is_copied():
    """As the old weight_norm leaves it on the module; deepcopy refuses what is no leaf."""
    module = Table()
    module.numbers = module.weight * 2
    twin = copied(module)
    assert torch.equal(twin.numbers, module.numbers) and twin.numbers is not module.numbers


def test_arithmetic_is_counted_where_a_forward_takes_gradients():
    class Inside(nn.Module):
        def forward(self, x):
            with torch.enable_grad():
                x = x.detach().requires_grad_()
                return torch.autograd.grad((x @ x).sum(), x)[0]

    with counting_flops() as counter, torch.no_grad():
        Inside()(torch.ones(8, 8))
    assert counter.get_total_flops() == 3 * 2 * 8**3  # the product, and two for its gradient

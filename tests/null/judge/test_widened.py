"""Modules that are copied, widened and counted whatever they hold and do."""

import torch
from torch import nn

from kernelwright.judge.counting import counted
from kernelwright.judge.widened import in_float64
from kernelwright.load.copies import copied


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

    with counted() as counter, torch.no_grad():
        Inside()(torch.ones(8, 8))
    assert counter.get_total_flops() == 3 * 2 * 8**3  # the product, and two for its gradient

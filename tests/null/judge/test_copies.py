"""A copy's closures use the copy's own parts."""

import copy

import torch
from torch import nn

from kernelwright.judge.copies import copied


class Closing(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.parts = nn.ModuleDict({"first": nn.Linear(n, n), "second": nn.Linear(n, n)})
        parts = self.parts

        def both(x, *, scale=2.0):
            return parts.second(parts["first"](x)) * scale

        self.both = both
        self.act = nn.ReLU()
        self.late = lambda x: self.act(self.both(x))

    def forward(self, x):
        return self.late(x)


def test_a_copy_with_other_weights_computes_with_them():
    module, x = Closing(4), torch.randn(3, 4)
    before = module(x)
    twin = copied(module)
    assert torch.equal(twin(x), before)
    with torch.no_grad():
        for weight in twin.parameters():
            weight.zero_()
    assert torch.equal(twin(x), torch.zeros(3, 4)) and torch.equal(module(x), before)
    assert copied(module).double()(x.double()).dtype is torch.float64
    assert copy.deepcopy(module).late.__closure__[0].cell_contents is module  # why this exists


def test_what_a_closure_holds_besides_stays():
    sizes = [1, 2]
    module = nn.Linear(2, 2)
    module.sizes = lambda: sizes
    assert copied(module).sizes() is sizes

"""A trusted module is made without drawing its weights where nothing else needs them."""

import pytest
import torch
from torch import nn

from kernelwright.judge.sandbox.blank import made_blank

CPU = torch.device("cpu")


class Net(nn.Module):
    """A product, and what ``more`` adds to it."""

    def __init__(self, more=lambda self: None):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4))
        more(self)


def names_of(module):
    return set(module.state_dict())


def test_a_module_whose_tensors_are_all_loaded_is_made_without_drawing():
    whole = Net()
    blank = made_blank(Net, names_of(whole), CPU)
    assert blank is not None
    blank.load_state_dict(whole.state_dict())
    x = torch.randn(3, 4)
    torch.testing.assert_close(blank.layers(x), whole.layers(x))


def tied(net):
    net.head = nn.Linear(4, 4)
    net.head.weight = net.layers[0].weight


MORE = {
    "a plain attribute": lambda net: setattr(net, "hidden", torch.randn(4)),
    "a tensor in a list": lambda net: setattr(net, "tables", [torch.arange(4)]),
    "a tensor in a function": lambda net: setattr(net, "scale", torch.ones(4).mul),
    "a buffer that is not saved": lambda net: net.register_buffer("mask", torch.ones(4), False),
    "shared weights": tied,
    "its device": lambda net: setattr(net, "place", net.layers[0].weight.device),
    "its numbers": lambda net: setattr(net, "largest", float(net.layers[0].weight.max())),
}


@pytest.mark.parametrize("more", MORE.values(), ids=MORE.keys())
def test_a_module_that_holds_more_is_made_as_it_is_written(more):
    def make():
        return Net(more)

    assert made_blank(make, names_of(make()), CPU) is None

"""A copy's closures use the copy's own parts."""

import copy
from functools import partial

import pytest
import torch
from torch import nn

from kernelwright.loaders.copies import copied


def closure(layer):
    return lambda x: layer(x)


def nested(layer):
    inner = closure(layer)
    return lambda x: inner(x)


def default(layer):
    return lambda x, layer=layer: layer(x)


def keyword(layer):
    def run(x, *, layer=layer):
        return layer(x)

    return run


def method(layer):
    run = layer.forward
    return lambda x: run(x)


def recursive(layer):
    def run(x, depth=1):
        return run(x, depth - 1) if depth else layer(x)

    return run


def bound(layer):
    return partial(lambda layer, x: layer(x), layer)


def listed(layer):
    return [closure(layer)]


def named(layer):
    runs = {"first": closure(layer)}
    return {0: lambda x: runs["first"](x)}


class Holding(nn.Module):
    def __init__(self, hold):
        super().__init__()
        self.layer = nn.Linear(4, 4)
        self.run = hold(self.layer)

    def forward(self, x):
        return (self.run[0] if isinstance(self.run, (list, dict)) else self.run)(x)


@pytest.mark.parametrize(
    "hold", [closure, nested, default, keyword, method, recursive, bound, listed, named]
)
def test_a_copy_with_other_weights_computes_with_them(hold):
    module, x = Holding(hold), torch.randn(3, 4)
    before = module(x)
    twin = copied(module)
    assert torch.equal(twin(x), before)
    with torch.no_grad():
        for weight in twin.parameters():
            weight.zero_()
    assert torch.equal(twin(x), torch.zeros(3, 4)) and torch.equal(module(x), before)
    assert copied(module).double()(x.double()).dtype is torch.float64


def test_a_copys_hooks_use_the_copys_own_parts():
    module, x = nn.Sequential(nn.Linear(4, 4), nn.Identity()), torch.randn(3, 4)
    first = module[0]
    module[1].register_forward_hook(lambda part, given, result: result + first.bias)
    module[1].register_forward_pre_hook(
        lambda part, given, told: ((given[0] * first.weight[0, 0],), told), with_kwargs=True
    )
    before = module(x)
    twin = copied(module)
    assert torch.equal(twin(x), before)
    with torch.no_grad():
        for weight in twin.parameters():
            weight.zero_()
    assert torch.equal(twin(x), torch.zeros(3, 4)) and torch.equal(module(x), before)
    twin[1].register_forward_hook(lambda part, given, result: result + 1)
    assert torch.equal(module(x), before)


def test_deepcopy_still_uses_the_originals_layers():
    """This is why copied() exists."""
    module = Holding(closure)
    assert copy.deepcopy(module).run.__closure__[0].cell_contents is module.layer


def test_other_closure_values_are_kept_and_may_be_unset():
    sizes = [1, 2]
    module = nn.Linear(2, 2)
    module.sizes = lambda: sizes
    assert copied(module).sizes() == sizes
    module.late = lambda: unset
    twin = copied(module)
    with pytest.raises(NameError):
        twin.late()
    unset = 1
    assert module.late() == unset


def test_top_level_functions_are_not_copied():
    """They are pickled by name, and a copy could not be found by that name."""
    module = nn.Linear(2, 2)
    module.act, module.acts = nn.functional.relu, [nn.functional.gelu]
    twin = copied(module)
    assert twin.act is nn.functional.relu and twin.acts[0] is nn.functional.gelu


def test_a_dict_that_parts_share_is_shared_by_their_copies():
    """With separate copies one part would not see what the other writes."""
    module = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    module[0].notes = module[1].notes = {"act": lambda x: x}
    module[0].notes["itself"] = module[0].notes
    twin = copied(module)
    assert twin[0].notes is twin[1].notes is twin[0].notes["itself"]
    assert twin[0].notes is not module[0].notes


def test_a_hook_that_is_removed_from_the_copy_is_gone():
    module = nn.Linear(2, 2)
    module.handle = module.register_forward_hook(lambda part, given, result: 0 * result)
    twin, x = copied(module), torch.ones(1, 2)
    assert torch.equal(twin(x), torch.zeros(1, 2))
    twin.handle.remove()
    assert not torch.equal(twin(x), torch.zeros(1, 2))
    assert torch.equal(module(x), torch.zeros(1, 2))


def test_a_module_that_holds_the_limits_of_its_type_is_copied():
    module = nn.Linear(2, 2)
    module.limits = torch.finfo(torch.float8_e4m3fn)
    assert copied(module).limits.max == 448.0

"""What a worker makes of a module's results and weights."""

from __future__ import annotations

import sys
from collections import namedtuple

import pytest
import torch

from kernelwright.judge.sandbox.layout import written_out
from kernelwright.judge.sandbox.weights import load_weights
from kernelwright.judge.sandbox.worker import describe, plain


def test_named_tuples_are_tuples() -> None:
    pair = namedtuple("Pair", "values places")
    x = torch.randn(3, 8)
    for given in (torch.topk(x, 2), pair(*torch.topk(x, 2)), [x, pair(x, x)]):
        told = describe(plain(given))
        assert set(told) <= {"tuple", "list"} and "other" not in str(told)


def test_lazy_conjugates_and_parameters_are_read_at_once() -> None:
    x = torch.randn(3, 8, dtype=torch.complex64)
    weight = torch.nn.Parameter(torch.randn(2))
    for given, meant in ((x.conj(), x.conj_physical()), (x.conj().imag, -x.imag), (weight, weight)):
        found = plain(given)
        assert type(found) is torch.Tensor and "tensor" in describe(found)
        assert torch.equal(found, meant)


def test_a_held_output_is_not_its_makers_own_object() -> None:
    """Buffers that are used again when their own object is free were no caller's views'."""
    made = torch.randn(3, 8)
    for given in (made, (made, None), made.expand(2, 3, 8)):
        n_before = sys.getrefcount(made)
        held = plain(given, may_expand=True)
        assert sys.getrefcount(made) == n_before
        assert describe(held) == describe(given)


def test_a_tuple_that_computes_when_it_is_read_is_read_at_once() -> None:
    read = []

    class Late(tuple):
        def __iter__(self):
            read.append(1)
            return iter((torch.zeros(1),))

    assert type(plain(Late())) is tuple and read == [1]


class Packed(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("both", torch.zeros(2, 3), persistent=False)

    def _load_from_state_dict(self, state_dict, prefix, *rest) -> None:
        self.both.copy_(torch.stack([state_dict["one"], state_dict["two"]]))


def test_a_module_may_pack_the_weights_that_it_takes() -> None:
    module = Packed()
    load_weights(module, {"one": torch.ones(3), "two": torch.full((3,), 2.0)})
    assert module.both.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_a_module_that_takes_none_is_refused() -> None:
    with pytest.raises(ValueError, match="does not take"):
        load_weights(torch.nn.ReLU(), {"one": torch.ones(3)})


def test_other_names_are_matched_by_order() -> None:
    module = torch.nn.Linear(2, 3)
    load_weights(module, {"a": torch.ones(3, 2), "b": torch.zeros(3)})
    assert float(module.weight.sum()) == 6 and float(module.bias.abs().sum()) == 0


def test_those_of_one_name_belong_together_and_of_the_others_those_of_one_shape() -> None:
    module = torch.nn.Module()
    for name, shape in (("w", (3, 2)), ("b", (3,)), ("bias", (3,))):
        module.register_parameter(name, torch.nn.Parameter(torch.empty(shape)))
    weights = {"bias": torch.ones(3), "linear.b": torch.zeros(3), "linear.w": torch.ones(3, 2)}
    load_weights(module, weights)
    assert float(module.bias.sum()) == 3 and float(module.b.abs().sum()) == 0


def test_a_view_of_a_weight_has_its_value_with_it() -> None:
    module = torch.nn.Linear(2, 3)
    module.turned = torch.nn.Parameter(module.weight.t(), requires_grad=False)
    module.twin = module.bias
    load_weights(module, {"a": torch.ones(3, 2), "b": torch.zeros(3)})
    assert float(module.turned.sum()) == 6
    load_weights(module, {"a": torch.ones(3, 2), "twin": torch.full((3,), 2.0)})
    assert float(module.bias.sum()) == 6
    module.turned = torch.nn.Parameter(module.weight.t().contiguous(), requires_grad=False)
    with pytest.raises(ValueError, match="does not take"):
        load_weights(module, {"a": torch.ones(3, 2), "b": torch.zeros(3)})


def test_a_part_may_stand_under_two_names_as_what_compiles_it_gives() -> None:
    module = torch.nn.Module()
    module.net = torch.nn.Linear(2, 3)
    module.compiled = torch.nn.ModuleDict({"part": module.net})
    load_weights(module, {"net.weight": torch.ones(3, 2), "net.bias": torch.zeros(3)})
    assert float(module.net.weight.sum()) == 6 and float(module.net.bias.abs().sum()) == 0
    module.compiled = torch.nn.ModuleDict({"part": torch.nn.Linear(2, 3)})  # weights of its own
    with pytest.raises(ValueError, match="does not take"):
        load_weights(module, {"net.weight": torch.ones(3, 2), "net.bias": torch.zeros(3)})


def test_a_buffer_of_its_constructor_stays_beside_the_references_weights() -> None:
    module = torch.nn.LayerNorm(4)
    module.register_buffer("shares", torch.full((4,), 0.25))
    load_weights(module, {"weight": torch.full((4,), 2.0), "bias": torch.ones(4)})
    assert float(module.weight.sum()) == 8 and float(module.shares.sum()) == 1
    weights = torch.nn.BatchNorm1d(4).state_dict()
    with pytest.raises(ValueError, match="does not take"):
        load_weights(torch.nn.LayerNorm(3), weights)


def test_expanded_results_are_written_out():
    found = plain((torch.arange(3.0).expand(4, 3), torch.arange(3.0)[:, None]))
    assert found[0].stride() == (3, 1) and torch.equal(found[0][3], torch.arange(3.0))
    assert found[1].data_ptr() and found[1].stride() == (1, 1)
    (view,) = plain((torch.arange(3.0).expand(4, 3),), may_expand=True)
    assert view.stride() == (0, 1)


def test_a_table_that_no_weights_change_may_be_left_out() -> None:
    weights = torch.nn.Linear(2, 3).state_dict() | {"mask": torch.ones(4, 4)}
    module = torch.nn.Linear(2, 3)
    load_weights(module, weights, {"mask"})
    assert torch.equal(module.weight, weights["weight"])
    other = torch.nn.Sequential(torch.nn.Linear(2, 3))
    load_weights(other, weights, {"mask"})
    assert torch.equal(other[0].bias, weights["bias"])
    with pytest.raises(ValueError, match="does not take"):
        load_weights(module, weights)
    load_weights(torch.nn.ReLU(), {"mask": torch.ones(4, 4)}, {"mask"})


def test_whole_numbers_that_are_needed_are_matched_by_order_too() -> None:
    module = torch.nn.Linear(2, 3)
    module.register_buffer("zeros", torch.zeros(3, dtype=torch.int32))
    given = {"a": torch.ones(3, 2), "b": torch.zeros(3), "c": torch.arange(3, dtype=torch.int32)}
    load_weights(module, given)
    assert module.zeros.tolist() == [0, 1, 2]
    load_weights(module, given | {"c": torch.ones(3, dtype=torch.int32)}, {"c"})
    assert module.zeros.tolist() == [0, 1, 2]


def test_weights_that_are_expanded_are_written_out() -> None:
    module = torch.nn.Linear(2, 3)
    module.register_buffer("blur", torch.ones(1, 5).expand(4, 5))
    module.shift = module.twin = torch.nn.Parameter(torch.ones(1, 5).expand(4, 5))
    shift = module.shift
    load_weights(written_out(module), module.state_dict() | {"blur": torch.zeros(4, 5)})
    assert not bool(module.blur.any())
    assert shift is module.shift is module.twin and shift.is_contiguous()
    written_out(torch.nn.LazyLinear(3))  # has no weights yet
    module.buffers = {}  # as a candidate may call what it keeps
    written_out(module)

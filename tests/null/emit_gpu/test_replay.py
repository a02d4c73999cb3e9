"""What a graph was captured for: it is captured anew when the module is another, and only then."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import nn

from kernelwright.compiler.candidate.unchanged import Kept, Numbers
from kernelwright.compiler.codegen.gpu.replay import REPLAY


def names_of_replay():
    """What the text defines."""
    names = {"gc": gc, "torch": torch, "threading": threading, "Numbers": Numbers}
    exec(REPLAY, names)
    return names


def swap_data(weight):
    weight.data = torch.randn(4, 3)


def renew_data(weight):
    values = weight.data.clone()
    weight.data = torch.empty(0)
    weight.data = values


CHANGES = {
    "in place": lambda weight: weight.mul_(2),
    "other memory": swap_data,
    "memory that was freed": renew_data,
}


@pytest.mark.parametrize(
    "given",
    [
        torch.rand(6, 8),
        torch.rand(6, 8).chunk(2, -1)[1],
        torch.rand(6, 1).expand(6, 8),
        torch.rand(2, 3, 4, 5).to(memory_format=torch.channels_last),
        torch.rand(10).unfold(0, 4, 1),
        torch.rand(0, 3),
    ],
    ids=["whole", "a slice", "expanded", "channels last", "overlapping", "empty"],
)
def test_what_a_graph_reads_has_the_strides_of_the_input(given):
    copied = names_of_replay()["copied"]
    own = copied(given)
    assert own.stride() == given.stride() and torch.equal(own, given)
    later = torch.rand(200).as_strided(given.shape, given.stride())
    assert copied(later, own) is own and torch.equal(own, later)


@dataclass
class Found(OrderedDict):
    """As the results of transformers are."""

    loss: torch.Tensor | None = None
    logits: torch.Tensor | None = None


class Pair(NamedTuple):
    one: torch.Tensor
    other: list[torch.Tensor]


@pytest.mark.parametrize(
    "made",
    [
        lambda x: Found(logits=x),
        lambda x: Pair(x, [x]),
        lambda x: OrderedDict(x=(x, None)),
        lambda x: {"x": [x, 1]},
    ],
    ids=["result", "named tuple", "ordered", "dict"],
)
def test_what_a_graph_gives_is_a_copy_of_the_same_kind(made):
    x = torch.rand(3)
    result = names_of_replay()["cloned"](made(x))
    assert type(result) is type(made(x)) and repr(result) == repr(made(x))
    x.zero_()
    assert repr(result) != repr(made(x))


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_change_is_noticed(change):
    weights = [nn.Parameter(torch.randn(4, 3)), torch.randn(4)]
    numbers = Numbers(weights)
    assert numbers.are_same()
    with torch.no_grad():
        change(weights[0])
    assert not numbers.are_same()
    assert Numbers(weights).are_same()


def test_numbers_whose_changes_torch_does_not_count_are_not_the_same():
    weight = nn.Parameter(torch.randn(4, 3))
    numbers = Numbers([weight])
    with torch.inference_mode():
        weight.data = torch.randn(4, 3)
    assert not numbers.are_same()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_of_a_module_has_no_graph_yet(copied):
    kept = Kept()
    kept.looks["kernels"] = object()
    assert not copied(kept).looks

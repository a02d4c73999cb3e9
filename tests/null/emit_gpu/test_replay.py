"""What a graph was captured for: it is captured anew when the module is another, and only then."""

from __future__ import annotations

import copy
import itertools
import operator
import pickle
import threading
from collections import OrderedDict
from dataclasses import dataclass
from typing import NamedTuple

import pytest
import torch
from torch import nn

from kernelwright.compiler.candidate.unchanged import Kept
from kernelwright.compiler.codegen.gpu.replay import REPLAY


def names_of_replay():
    """What the text defines."""
    given = (torch, itertools, operator, threading)
    names = {module.__name__: module for module in given}
    exec(REPLAY, names)
    return names


def replay_of(module):
    """A replay that has seen the module."""
    replay = names_of_replay()["Replay"]()
    replay.watch(module)
    return replay


def made():
    return nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Sequential(nn.Linear(4, 4)))


def swap_data(module):
    module[0].weight.data = torch.randn(4, 3)


CHANGES = {
    "in place": lambda m: m[0].weight.mul_(2),
    "a buffer in place": lambda m: m[1].running_mean.add_(1),
    "other memory": swap_data,
    "another parameter": lambda m: setattr(m[0], "bias", nn.Parameter(torch.randn(4))),
    "no parameter": lambda m: setattr(m[0], "bias", None),
    "another module": lambda m: m[2].__setitem__(0, nn.Linear(4, 4)),
    "one more": lambda m: m[2].append(nn.ReLU()),
    "one less": lambda m: m[2].pop(0),
    "one more parameter": lambda m: m[1].register_parameter("more", nn.Parameter(torch.ones(1))),
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
    module = made()
    replay = replay_of(module)
    assert not replay.is_stale()
    with torch.no_grad():
        change(module)
    assert replay.is_stale()
    replay.watch(module)
    assert not replay.is_stale()


def test_a_call_that_changes_nothing_is_no_change():
    module = made().eval()
    replay = replay_of(module)
    with torch.no_grad():
        module(torch.randn(2, 3))
    assert not replay.is_stale()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copy_of_a_module_has_no_graph_yet(copied):
    kept = Kept()
    kept.replay = replay_of(made())
    assert copied(kept).replay is None

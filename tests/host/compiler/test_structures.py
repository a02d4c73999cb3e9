"""Modules as libraries have them: nested arguments, keywords, result objects, buffers of no state.

Each is given as a class in a file and as an instance, and what is built has its signature and its
results, in calls that the kernels serve and in others.
"""

from __future__ import annotations

import importlib
import pickle
import sys

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder, proposals
from tests.null.swarm.briefs import verdict
from torch.utils._pytree import tree_leaves

import kernelwright as kw
from kernelwright.compiler.capture.structures import described
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load, open_reference
from kernelwright.proposers.rules import RulesProposer
from kernelwright.search.result import Result, write_source

__all__ = ["cache_folder"]

FILE = '''
from collections import OrderedDict
from dataclasses import dataclass, fields
from typing import NamedTuple

import torch
from torch import nn


@dataclass
class Config:
    width: int = 32
    heads: int = 4


@dataclass
class Output(OrderedDict):
    """As transformers' ModelOutput: a dictionary of the fields that are not None."""

    logits: torch.Tensor = None
    loss: torch.Tensor = None
    hidden: tuple = None

    def __post_init__(self):
        for field in fields(self):
            if getattr(self, field.name) is not None:
                OrderedDict.__setitem__(self, field.name, getattr(self, field.name))


class Sizes(NamedTuple):
    rows: torch.Tensor
    width: int


class Rotated(nn.Module):
    """Attention of grouped heads with rotary embeddings, as Llama has it."""

    def __init__(self, config, layer=0):
        super().__init__()
        self.config, self.layer = config, layer
        self.q = nn.Linear(config.width, config.width, bias=False)
        self.k = nn.Linear(config.width, config.width // 2, bias=False)

    def forward(self, hidden, position_embeddings=None, mask=None, **kwargs):
        cos, sin = position_embeddings
        batch, length, width = hidden.shape
        heads = self.config.heads
        q = self.q(hidden).view(batch, length, heads, -1).transpose(1, 2)
        k = self.k(hidden).view(batch, length, heads // 2, -1).transpose(1, 2)
        q, k = (x * cos.unsqueeze(1) + x.flip(-1) * sin.unsqueeze(1) for x in (q, k))
        k = k[:, :, None].expand(batch, heads // 2, 2, length, -1).reshape(q.shape)
        scores = q @ k.transpose(2, 3) * q.shape[-1] ** -0.5
        if mask is not None:
            scores = scores + mask
        weights = torch.softmax(scores, -1)
        return (weights @ k).transpose(1, 2).reshape(hidden.shape), None


class Headed(nn.Module):
    """A table of no state, keyword arguments, and a result object."""

    def __init__(self, config):
        super().__init__()
        self.register_buffer("table", torch.linspace(0.5, 1.5, config.width), persistent=False)
        self.head = nn.Linear(config.width, 8)

    def forward(self, hidden, *, scale=2.0, labels=None, **kwargs):
        x = torch.tanh(hidden * self.table) * scale + kwargs.get("shift", 0.0)
        logits = self.head(x)
        loss = None if labels is None else (logits * labels["one"]).mean()
        return Output(logits, loss, (x, hidden + 1.0))


class Named(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.register_buffer("table", torch.linspace(0.5, 1.5, config.width), persistent=False)
        self.shift = nn.Parameter(torch.randn(config.width))

    def forward(self, x, others, flag: bool = True, **kwargs):
        y = torch.sigmoid(x * self.table + self.shift) * others["a"] + others["b"][0]
        return {"y": y, "sizes": [y.sum(-1), x.shape[-1]], "none": None, "flag": flag}


class Sized(nn.Module):
    def __init__(self, config):
        super().__init__()

    def forward(self, x, dtype=None):
        return Sizes(torch.exp(x).sum(-1).to(dtype), x.shape[-1])


class Branching(nn.Module):
    """The values of its input decide, but parts of it do not ask."""

    def __init__(self, config):
        super().__init__()
        self.inner = Headed(config)

    def forward(self, x):
        found = self.inner(hidden=x, scale=0.5)
        return found.logits if x.sum() > 0 else -found.logits
'''
X, ROTARY = "float32[2,12,32]", "(float32[1,12,8], float32[1,12,8])"
CASES = {
    "Rotated": ("config=CONFIG, layer=1", {"hidden": X, "position_embeddings": ROTARY}),
    "Headed": ("CONFIG", {"hidden": X, "scale": "0.5", "labels": "{one: float32[8]}"}),
    "Sized": ("CONFIG", {"x": X, "dtype": "torch.float32"}),
    "Named": ("CONFIG", {"x": X, "others": "{a: float32[32], b: [float32[2,12,32], 3]}"}),
}


@pytest.fixture
def library(tmp_path, monkeypatch):
    """The name of a module that can be imported, with the text above."""
    name = f"library_{tmp_path.name}".replace("-", "_").rstrip("_")
    (tmp_path / f"{name}.py").write_text(FILE)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    sys.modules.pop(name, None)


def built(task, folder, *, several):
    best = proposals(task)[0]
    path = write_source(best.candidate, folder, task.name)
    result = Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")
    return kw.build([result] if several else result)


def alike(found, wanted):
    assert type(found).__name__ == type(wanted).__name__
    parts, others = tree_leaves(described(found)), tree_leaves(described(wanted))
    for a, b in zip(parts, others, strict=True):
        if isinstance(b, torch.Tensor):
            torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)
        else:
            assert a == b


@torch.no_grad()
@pytest.mark.parametrize("name", CASES)
def test_a_class_of_a_library_is_built_with_its_signature_and_results(name, library, tmp_path):
    init, inputs = CASES[name]
    init = init.replace("CONFIG", f"{library}.Config(width=32)")
    task = load(f"{library}.{name}", inputs=inputs, init=init)
    reference = open_reference(task)
    module, given = reference.build(0), reference.inputs(0)
    fast = built(task, tmp_path, several=False)
    fast.load_state_dict(module.state_dict())
    assert fast.why_not(*given) == ""
    alike(fast(*given), module(*given))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert fast.why_not(*given) != ""
        alike(fast(*given), module(*given))
    alike(fast(given[0][:1], *given[1:]), module(given[0][:1], *given[1:]))


N_SERVED = 2


def calls(name):
    """Arguments by position and by name: the kernels serve the first N_SERVED."""
    x, row = torch.randn(2, 12, 32), torch.randn(32)
    rotary = (torch.randn(1, 12, 8), torch.randn(1, 12, 8))
    return {
        "Rotated": [
            ((x, rotary), {}), ((x,), {"position_embeddings": rotary}), ((x, list(rotary)), {}),
            ((x, rotary, torch.zeros(12, 12)), {}), ((x, rotary), {"other": 1}),
        ],
        "Named": [
            ((x, {"a": row, "b": [x, 3]}), {}), ((x,), {"others": {"b": [x, 3], "a": row}}),
            ((x, {"a": row, "b": [x, 3]}, False), {}), ((x, {"a": row, "b": (x,)}), {}),
            ((x, {"a": row, "b": [x, 3]}), {"other": row}),
        ],
    }[name]  # fmt: skip


@torch.no_grad()
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
@pytest.mark.parametrize("name", ["Rotated", "Named"])
def test_an_instance_is_built_with_its_signature_and_results(name, several, library, tmp_path):
    place = importlib.import_module(library)
    module = getattr(place, name)(place.Config())
    rows = calls(name)
    fast = built(load(module, inputs=list(rows[0][0]), name=name), tmp_path, several=several)
    for number, (args, named) in enumerate(rows):
        assert (fast.why_not(*args, **named) == "") == (number < N_SERVED)
        if several or number < N_SERVED:
            alike(fast(*args, **named), module(*args, **named))
    alike(pickle.loads(pickle.dumps(fast))(*rows[0][0]), module(*rows[0][0]))


@pytest.mark.parametrize("name", ["Headed", "Sized"])
def test_an_instance_whose_result_no_file_can_import_says_what_would_help(name, library):
    place = importlib.import_module(library)
    task = load(getattr(place, name)(place.Config()), inputs=[torch.randn(2, 12, 32)])
    line = RulesProposer().propose(Brief(task, Device.parse("cpu"), ("cpp",), threads=1))
    with pytest.raises(StopIteration) as ended:
        next(line)
    result = Result(task, None, None, [], "eager", None, "", reasons=(ended.value.value,))
    assert "a class that no other file can import: give the module as file.py:Class" in repr(result)


@torch.no_grad()
def test_a_branch_on_values_leaves_the_parts_to_kernels(library, tmp_path):
    task = load(f"{library}.Branching", inputs=[X], init=f"{library}.Config()")
    module = open_reference(task).build(0)
    fast = built(task, tmp_path, several=False)
    fast.load_state_dict(module.state_dict())
    for x in (torch.ones(2, 12, 32), -torch.ones(2, 12, 32)):
        assert fast.inner.why_not(hidden=x, scale=0.5) == ""
        alike(fast(x), module(x))

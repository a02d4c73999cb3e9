"""A reference may have names that emitted files use for themselves."""

import pytest
import torch

import kernelwright as kw
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import open_reference
from kernelwright.loaders.training_step import training_step
from kernelwright.proposers.rules import RulesProposer

CLASSES = """
import torch
from torch import nn


class HOOKS(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x) * 3


class Kept(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = HOOKS()

    def forward(self, x):
        return torch.tanh(self.inner(x)) + x


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.kept = Kept()

    def forward(self, x):
        return self.kept(x) * 0.5


def get_inputs():
    return [torch.randn(64, 96)]


def get_init_inputs():
    return []
"""
NAMES = """
import math as ctypes

import torch
from torch import nn

OPERATORS = ctypes.pi
MODULES = {"half": 0.5}


def operator(x):
    return x * OPERATORS


def missed(x):
    return torch.tanh(x) * MODULES["half"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(96))

    def forward(self, x):
        return operator(missed(x)) + torch.sigmoid(x * self.weight)


def get_inputs():
    return [torch.randn(64, 96)]


def get_init_inputs():
    return []
"""


def built(folder, task, about=lambda task: task):
    """The module of the first kernel for a task, or for what ``about`` makes of it."""
    brief = Brief(about(task), Device.parse("cpu"), ("cpp",))
    candidate = next(iter(RulesProposer().propose(brief))).candidate
    (folder / "kernel.py").write_text(candidate.source)
    module, reference = kw.build(folder / "kernel.py"), open_reference(task).build(0)
    module.load_state_dict(reference.state_dict())
    return module, reference


@pytest.fixture(params=[CLASSES, NAMES], ids=["classes", "functions and imports"])
def task(request, tmp_path):
    (tmp_path / "task.py").write_text(request.param)
    return kw.load(tmp_path / "task.py")


def test_with_gradients_both_keep_their_own(task, tmp_path):
    module, reference = built(tmp_path, task, training_step)
    assert module.why_not(torch.randn(64, 96)) == ""
    ours, theirs = (torch.full((64, 96), 0.5, requires_grad=True) for _ in range(2))
    module(ours).sum().backward()
    reference(theirs).sum().backward()
    torch.testing.assert_close(ours.grad, theirs.grad)


def test_both_keep_their_own(task, tmp_path):
    module, reference = built(tmp_path, task)
    x = torch.randn(64, 96)
    with torch.no_grad():
        assert module.why_not(x) == ""
        torch.testing.assert_close(module(x), reference(x))
        assert torch.equal(module._reference_forward(x), reference(x))
        with pytest.warns(UserWarning, match="x is not of the shape"):
            assert torch.equal(module(x.double()), reference(x.double()))

"""A kernel that the rules wrote, with a verdict that nobody had to measure."""

import pytest
from tests.null.archive.nouns import verdict

import kernelwright as kw
from kernelwright.archive.receipt import Receipt
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.proposers.rules import RulesProposer

GATE = '''
import torch
from torch import nn


class Gate(nn.Module):
    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return torch.sigmoid(x) * self.slope


class Model(nn.Module):
    """A gate and a norm with a weight."""

    def __init__(self, width, slope):
        super().__init__()
        self.gate = Gate(slope)
        self.weight = nn.Parameter(torch.rand(width))

    def forward(self, x):
        h = x * self.gate(x)
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + 1e-5) * self.weight


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return [128, 1.5]
'''
MODEL = {}
exec(GATE, MODEL)


def emitted(task, dialect="cpp"):
    """The first kernel that the rules write for a task."""
    brief = Brief(task, Device.parse("cpu"), (dialect,))
    return next(iter(RulesProposer().propose(brief))).candidate


def receipt_of(task, candidate, **found):
    """A receipt of a verdict that passed."""
    found = verdict(candidate, **{"task": task.digest, "seed": 1} | found)
    return Receipt(task, candidate, found)


@pytest.fixture(scope="session")
def task(tmp_path_factory):
    path = tmp_path_factory.mktemp("tasks") / "gate.py"
    path.write_text(GATE)
    return kw.load(path)


@pytest.fixture(scope="session")
def receipt(task):
    return receipt_of(task, emitted(task))


@pytest.fixture(scope="session")
def packages(receipt, tmp_path_factory):
    """The folder of each format's package."""
    folder = tmp_path_factory.mktemp("packages")
    (folder / "op").mkdir()  # an empty folder is as good as none
    return {to: kw.export(receipt, to=to, out=folder / to) for to in ("op", "hf", "fib")}

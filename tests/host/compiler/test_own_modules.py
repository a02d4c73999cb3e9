"""A candidate for a file that imports its neighbours builds in a folder without them."""

from __future__ import annotations

import sys

import pytest

from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.judge import Judge
from kernelwright.loaders import load
from kernelwright.proposers.inductor import InductorProposer
from kernelwright.proposers.rules import RulesProposer

TASK = """
import torch
from beside_ops import gated


class Model(torch.nn.Module):
    def forward(self, x):
        return gated(x)


def get_inputs():
    return [torch.randn(64, 256)]


def get_other_inputs():
    return [[torch.randn(7, 33)]]


def get_init_inputs():
    return []
"""
OPS = "from beside_scale import SCALE\n\n\ndef gated(x):\n    return (x * SCALE).sigmoid() * x\n"


@pytest.fixture
def task(tmp_path):
    texts = {"task": TASK, "beside_ops": OPS, "beside_scale": "SCALE = 1.7\n"}
    for name, text in texts.items():
        (tmp_path / f"{name}.py").write_text(text)
    finders = list(sys.meta_path)
    yield load(tmp_path / "task.py")
    sys.meta_path[:] = finders
    for name in texts:
        sys.modules.pop(name, None)


@pytest.mark.parametrize("proposer", [RulesProposer(), InductorProposer()], ids=lambda it: it.name)
def test_it_passes_on_inputs_that_take_the_references_own_forward_too(task, proposer):
    device = Device.parse("cpu")
    said = next(iter(proposer.propose(Brief(task, device, ("cpp",), budget_s=200.0))))
    with Judge(task, device=device, settings=Settings(threads=1)) as judge:
        found = judge.evaluate(said.candidate, timed=False)
    assert found.passed, found.why

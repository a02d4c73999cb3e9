"""Networks of many layers: their programs are written, quickly, and the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys

import torch
from torch import nn

from kernelwright.compiler.capture.capture import capture
from kernelwright.compiler.codegen.triton.emitter import TritonEmitter
from kernelwright.compiler.fuse import fuse
from kernelwright.compiler.fuse.assemble import assemble_supported
from kernelwright.compiler.ir.ir import Program
from kernelwright.proposers.rules.variants import variants

OWN = variants("cuda")[0].fusion
WRITTEN = """
import torch
from torch import nn
from kernelwright.compiler.candidate import module
from kernelwright.core.candidate import Brief, Candidate
from kernelwright.core.device import Device
from kernelwright.loaders import load
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals

module.LET_GO_ELEMENTS = 1  # as if every result were large
net = nn.Sequential(nn.Linear(8, 32), nn.GroupNorm(4, 32), nn.Softmax(1), nn.LayerNorm(32))
brief = Brief(load(net, inputs=[torch.randn(6, 8)]), Device.parse("cuda:sm_90"), ("triton",))
print(*(one.candidate.digest for one in first_proposals(OpenedTask(brief), 2)))
"""


class Shuffled(nn.Module):
    """A unit of ShuffleNet: the order of its channels is changed between grouped convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(8, 8, 1, groups=2, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x)))
        y = y.view(2, 2, 4, 6, 6).transpose(1, 2).reshape(2, 8, 6, 6)
        return self.second(y) + x


def program_of(module: nn.Module, x: torch.Tensor) -> Program:
    captured = capture(module, [x])
    return assemble_supported(captured, OWN, TritonEmitter().supports, products=True)


def test_a_plan_that_goes_on_from_the_last_one_is_the_plan_made_anew(monkeypatch) -> None:
    network, x = nn.Sequential(*(Shuffled() for _ in range(3))), torch.randn(2, 8, 6, 6)
    n_saved: list[int] = []
    take_over = fuse._Plan._take_over

    def noted(plan: fuse._Plan, earlier: fuse._Plan) -> int:
        n_saved.append(take_over(plan, earlier))
        return n_saved[-1]

    monkeypatch.setattr(fuse._Plan, "_take_over", noted)
    found = program_of(network, x)
    assert max(n_saved) > 20
    monkeypatch.setattr(fuse._Plan, "_take_over", lambda plan, earlier: 0)
    assert program_of(network, x) == found


def test_the_depth_of_a_network_is_not_bounded_by_recursion() -> None:
    layers = [layer for _ in range(70) for layer in (nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())]
    program = program_of(nn.Sequential(*layers), torch.randn(4, 8))
    assert len(program.steps) >= 70


def test_the_text_is_the_same_in_every_process() -> None:
    written = {
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", WRITTEN],
            capture_output=True,
            text=True,
            check=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        ).stdout
        for seed in "123"
    }
    assert len(written) == 1

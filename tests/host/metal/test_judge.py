"""Somebody's ``compile_shader`` file before the judge, on a machine without an Apple GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from kernelwright.core.candidate import Brief, Candidate
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.dialects.devices import resolve
from kernelwright.dialects.simt.metal import msl_missing
from kernelwright.judge import Judge
from kernelwright.proposers.inductor import InductorProposer

pytestmark = pytest.mark.skipif(msl_missing() is not None, reason=str(msl_missing()))

TASK = """
import torch

class Model(torch.nn.Module):
    def forward(self, x, y):
        return torch.relu(x + y)

def get_inputs():
    return [torch.randn(6, 50), torch.randn(6, 50)]

def get_init_inputs():
    return []
"""
KERNEL = '''
import torch

LIBRARY = torch.mps.compile_shader("""
#include <metal_stdlib>
using namespace metal;
kernel void add_relu(device const float* x, device const float* y, device float* out,
                     uint i [[thread_position_in_grid]]) {
  out[i] = max(x[i] + y[i], 0.0f);
}
""")

class ModelNew(torch.nn.Module):
    def forward(self, x, y):
        assert x.is_mps and x.device.type == "mps"
        x, y = x.contiguous(), y.contiguous()
        out = torch.empty(x.shape, device=x.device)
        LIBRARY.add_relu(x, y, out)
        return out
'''
SEEN = "not compiled by Apple's compiler, not timed"


@pytest.fixture(scope="module")
def judge() -> Iterator[Judge]:
    device = resolve(Device.parse("metal"))
    with Judge(Task("add_relu", "kernelbench", TASK), device=device) as judge:
        yield judge


def verdict_on(judge: Judge, *changes: tuple[str, str]) -> Evaluation:
    text = KERNEL
    for right, wrong in changes:
        assert right in text
        text = text.replace(right, wrong)
    verdict = judge.evaluate(Candidate(text, "metal"))
    assert any(SEEN in warning.detail for warning in verdict.warnings)
    assert verdict.timing is None
    return verdict


def test_a_right_kernel_passes_and_is_called_one(judge: Judge) -> None:
    verdict = verdict_on(judge)
    assert verdict.status is Status.PASSED, verdict.why
    assert verdict.kinds == ("kernel",)
    assert verdict.environment.device == "metal:emulated"


def test_one_that_lets_torch_compute_is_called_a_library(judge: Judge) -> None:
    never = verdict_on(judge, ("LIBRARY.add_relu(x, y, out)", "out = torch.relu(x + y)"))
    assert never.passed and never.kinds == ("library",)
    half = verdict_on(
        judge, ("LIBRARY.add_relu(x, y, out)", "LIBRARY.add_relu(x + y, x.new_zeros(300), out)")
    )
    assert half.passed and half.kinds == ("kernel", "library")


@pytest.mark.parametrize(
    ("right", "wrong", "status", "why"),
    [
        ("x[i] + y[i]", "x[i] - y[i]", Status.WRONG_VALUES, ""),
        ("LIBRARY.add_relu(x, y, out)", "pass", Status.WRONG_VALUES, ""),
        ("(x, y, out)", "(x, y, out, threads=150)", Status.WRONG_VALUES, ""),
        ("y[i], 0.0f", "y[i + 1], 0.0f", Status.RUNTIME_ERROR, "out-of-bounds at kernels.metal:6"),
        ("(x, y, out)", "(x, out)", Status.RUNTIME_ERROR, "buffer(2)"),
        ("max(x", "maximum(x", Status.BUILD_ERROR, "line 6"),
    ],
)
def test_wrong_kernels(judge: Judge, right: str, wrong: str, status: Status, why: str) -> None:
    verdict = verdict_on(judge, (right, wrong))
    assert verdict.status is status, verdict.why
    assert why in verdict.why


def test_the_command_says_so_too(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    (tmp_path / "kernel.py").write_text(KERNEL)
    words = ("judge", "task.py", "kernel.py", "--device", "metal", "--json")
    command = [sys.executable, "-m", "kernelwright", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["status"] == "passed"
    assert any(SEEN in json.dumps(warning) for warning in told["warnings"])


def test_a_search_gives_the_first_right_kernel_as_a_file(tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(TASK)
    words = ("optimize", "task.py", "--device", "metal", "--budget", "30s", "--json")
    command = [sys.executable, "-m", "kernelwright", *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    told = json.loads(done.stdout)
    assert done.returncode == 0 and told["candidates"]["passed"] > 0
    source = (tmp_path / told["source"]).read_text()
    assert "torch.mps.compile_shader(SOURCE)" in source and "class ModelNew" in source


def test_what_inductor_writes_for_apples_gpus_passes() -> None:
    layers = """
import torch
import torch.nn as nn

class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n, 24), nn.GELU())
        self.convolution = nn.Conv2d(1, 2, 3)

    def forward(self, x):
        y = self.layers(x).unsqueeze(0).unsqueeze(0)
        return torch.tanh(self.convolution(y))

def get_inputs():
    return [torch.randn(6, 30)]

def get_init_inputs():
    return [30]
"""
    task, device = Task("layers", "kernelbench", layers), resolve(Device.parse("metal"))
    (found,) = InductorProposer().propose(Brief(task, device, ("metal",), budget_s=120))
    assert "kernel void" in found.candidate.source and found.candidate.dialect == "metal"
    with Judge(task, device=device) as opened:
        verdict = opened.evaluate(found.candidate)
    assert verdict.status is Status.PASSED, verdict.why
    assert "kernel" in verdict.kinds, verdict.warnings

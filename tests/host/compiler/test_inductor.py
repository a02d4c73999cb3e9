"""Code that torch.compile generates works as a separate file and passes the judge."""

import ast
import subprocess
import sys
from dataclasses import replace

import pytest

from kernelwright.compiler.candidate.unchanged import description_of
from kernelwright.core.candidate import Brief, Candidate, Exemplar
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.loaders import open_reference
from kernelwright.proposers.inductor import InductorProposer
from kernelwright.proposers.inductor.generated import Argument, Generated
from kernelwright.proposers.inductor.standalone import NotStandalone, standalone

LAYERS = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(n, 32), nn.GELU())
        self.norm = nn.LayerNorm(32)

    def forward(self, x, y):
        return torch.softmax(self.norm(self.layers(x)) * y, -1), x.t() + 1


def get_inputs():
    return [torch.randn(16, 64), torch.randn(32)]


def get_init_inputs():
    return [64]
"""
# Without what Triton's interpreter lacks: the device's own library of functions.
ROWS = LAYERS.replace("torch.softmax(self.norm(self.layers(x)) * y, -1)", "torch.relu(x).amax(-1)")
GENERATE = f"""
import torch, triton
from unittest.mock import patch
from torch._inductor import config
from torch._inductor.graph import GraphLowering
from triton.backends.compiler import GPUTarget

class Driver:  # of a GPU that is not there: only text is wanted
    get_current_target = lambda self: GPUTarget("cuda", 90, 32)
    get_current_device = lambda self: 0
    is_active = lambda self: True

triton.runtime.driver.set_active(Driver())
config.cpu_backend = "triton"
exec({ROWS!r})
codes = []
with torch.no_grad(), patch.object(GraphLowering, "save_output_code", codes.append):
    try:
        torch.compile(Model(64), dynamic=False)(*get_inputs())
    except torch._inductor.exc.InductorError:
        pass
print(codes[0])
"""


def judged(source, text, dialect):
    task = Task("task", "folder", source)
    with Judge(task, device=Device.parse("cpu"), settings=Settings(threads=1)) as judge:
        return judge.evaluate(Candidate(text, dialect), timed=False)


def test_generated_cpp_is_proposed_once_as_a_file_that_needs_torch_alone():
    brief = Brief(Task("task", "folder", LAYERS), Device.parse("cpu"), ("triton", "cpp"))
    (said,) = InductorProposer().propose(replace(brief, budget_s=200.0))
    assert (said.proposer, said.candidate.dialect) == ("inductor", "cpp")
    assert "_inductor" not in said.candidate.source and "torch/csrc" not in said.candidate.source
    found = judged(LAYERS, said.candidate.source, "cpp")
    assert found.passed, found.why
    later = replace(brief, exemplars=(Exemplar(said, found, "parent"),))
    assert list(InductorProposer().propose(later)) == []
    assert list(InductorProposer().propose(replace(brief, dialects=("triton",)))) == []


def test_generated_triton_runs_without_inductors_runtime():
    pytest.importorskip("triton")
    done = subprocess.run([sys.executable, "-c", GENERATE], capture_output=True, text=True)
    kernels = [n.name for n in ast.walk(ast.parse(done.stdout)) if isinstance(n, ast.FunctionDef)]
    assert "call" in kernels, done.stderr
    names = [
        line.split(" = ")[0] for line in done.stdout.splitlines() if "async_compile.tri" in line
    ]
    task = Task("task", "folder", ROWS)
    generated = Generated(
        code=done.stdout, device="cpu", returns_one=False, is_training=True,
        arguments=(Argument("inputs[0]", (16, 64), (64, 1), "float32"),),
        configs={name: {"XBLOCK": 4, "num_warps": 4, "num_stages": 1} for name in names},
        modules=description_of(open_reference(task).build(0), "", mode=True),
    )  # fmt: skip
    text = standalone(generated, task)
    assert "_inductor" not in text and "triton_heuristics" not in text
    found = judged(ROWS, text, "triton")
    assert found.passed, found.why
    with pytest.raises(NotStandalone, match=names[0]):
        standalone(replace(generated, configs={}), task)


def test_modules_that_draw_random_numbers_are_not_proposed():
    source = LAYERS.replace("x.t() + 1", "torch.dropout(x, 0.5, True)")
    brief = Brief(Task("task", "folder", source), Device.parse("cpu"), ("cpp",), budget_s=200.0)
    assert list(InductorProposer().propose(brief)) == []

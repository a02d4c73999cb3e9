"""Readers of suites that list shapes for each operator: each shape is a task that runs."""

import json
import shutil

import pytest
import torch

from kernelwright.core.errors import TaskError, UsageError
from kernelwright.loaders import check, open_reference
from kernelwright.suites.device_text import on_any_device
from kernelwright.suites.suite import suite_entries

REFERENCE = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, eps: float = 1e-6, bias: bool = False) -> None:
        super().__init__()
        self.eps, self.bias = eps, bias

    def forward(self, x, weight, shift=None):
        made = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + self.eps) * weight
        return made if shift is None else made + shift
"""
INPUTS = """
import torch


def _make_inputs(rows, width, shifted=False):
    made = {"weight": torch.ones(width, device='cuda')}
    made["x"] = torch.randn(rows, width, device="cuda")
    if shifted:
        made["shift"] = torch.ones(width, device="cuda:0")
    return made
"""
SHAPES = {
    "0": {"init_kwargs": {"bias": True}, "input_kwargs": {"rows": 3, "width": 8}},
    "1": {"init_kwargs": None, "input_kwargs": {"rows": 1, "width": 4, "shifted": True}},
}
DEFINITION = {
    "name": "norm_h8",
    "axes": {
        "M": {"type": "var"},
        "N": {"type": "const", "value": 8},
        "H": {"type": "expr", "expression": "N // 2 + -1 * M + M"},
    },
    "inputs": {
        "x": {"shape": ["M", "N"], "dtype": "bfloat16"},
        "half": {"shape": ["M", "H"], "dtype": "float32"},
        "at": {"shape": ["M"], "dtype": "int64"},
        "eps": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["M", "N"], "dtype": "float32"}},
    "reference": "import torch\n\n@torch.no_grad()\ndef run(x, half, at, eps):\n"
    "    return (x.float() + half.repeat(1, 2)) * eps + at[:, None]\n",
}
WORKLOAD = {"uuid": "u", "axes": {"M": 3}, "inputs": {"eps": {"type": "scalar", "value": 0.5}}}


@pytest.fixture
def atrex(tmp_path):
    folder = tmp_path / "data" / "rms_norm"
    folder.mkdir(parents=True)
    (folder / "reference.py").write_text(REFERENCE)
    (folder / "input.py").write_text(INPUTS)
    (folder / "shapes.json").write_text(json.dumps(SHAPES))
    return tmp_path


@pytest.fixture
def fib(tmp_path):
    for kind, suffix, text in (
        ("definitions", "json", json.dumps(DEFINITION)),
        ("workloads", "jsonl", json.dumps({"definition": "norm_h8", "workload": WORKLOAD})),
    ):
        (tmp_path / kind / "norm").mkdir(parents=True)
        (tmp_path / kind / "norm" / f"norm_h8.{suffix}").write_text(text)
    return tmp_path


@pytest.fixture
def sol(tmp_path):
    folder = tmp_path / "examples" / "norm"
    folder.mkdir(parents=True)
    (folder / "definition.json").write_text(json.dumps(DEFINITION))
    two = [WORKLOAD, {**WORKLOAD, "axes": {"M": 5}}]
    (folder / "workload.jsonl").write_text("\n".join(map(json.dumps, two)) + "\n\n")
    return tmp_path


def inputs(entry):
    return open_reference(entry.task).inputs(1)


def test_each_shape_of_an_operator_is_a_task(atrex):
    entries = suite_entries("atrex", device="cpu", path=atrex)
    assert [(e.level, e.problem, e.name) for e in entries] == [
        ("rms_norm", 1, "rms_norm_0"),
        ("rms_norm", 2, "rms_norm_1"),
    ]
    assert [check(e.task).shapes for e in entries] == [
        (("float32", (3, 8)), ("float32", (8,)), ("NoneType", ())),
        (("float32", (1, 4)), ("float32", (4,)), ("float32", (4,))),
    ]
    first = open_reference(entries[0].task)
    assert first.init_inputs(0) == [1e-6, True]


def test_an_operator_names_all_of_its_shapes(atrex):
    found = suite_entries("atrex", device="cpu", path=atrex, problems=["rms_norm"])
    assert len(found) == 2
    assert len(suite_entries("atrex", device="cpu", path=atrex, problems=["rms_norm_1"])) == 1
    assert suite_entries("atrex", device="cpu", path=atrex / "data" / "rms_norm")


def test_a_workload_fills_in_the_axes_of_a_definition(fib):
    (entry,) = suite_entries("fib", device="cpu", path=fib)
    x, half, at, eps = inputs(entry)
    assert (x.dtype, x.shape, half.shape, eps) == (torch.bfloat16, (3, 8), (3, 4), 0.5)
    assert at.dtype == torch.int64 and at.abs().max() <= 1024
    assert check(entry.task)


def test_every_workload_of_a_problem_is_a_task(sol):
    entries = suite_entries("sol", device="cpu", path=sol)
    assert [inputs(e)[0].shape[0] for e in entries] == [3, 5]
    assert {e.level for e in entries} == {"norm_h8"}


def test_a_problem_that_two_folders_hold_is_one(sol):
    entries = suite_entries("sol", device="cpu", path=sol)
    shutil.copytree(sol / "examples" / "norm", sol / "examples" / "norm_in_triton")
    assert suite_entries("sol", device="cpu", path=sol) == entries


def test_a_definition_makes_its_own_inputs(sol):
    file = sol / "examples" / "norm" / "definition.json"
    own = "def made(g, device):\n    return {'x': torch.full((g['M'], g['N']), g['eps'])}\n"
    changed = {**DEFINITION, "custom_inputs_entrypoint": "made"}
    changed["reference"] += own
    file.write_text(json.dumps(changed))
    workload = {**WORKLOAD, "inputs": {**WORKLOAD["inputs"], "x": {"type": "custom"}}}
    file.with_name("workload.jsonl").write_text(json.dumps(workload))
    (entry,) = suite_entries("sol", device="cpu", path=sol)
    assert torch.equal(inputs(entry)[0], torch.full((3, 8), 0.5))


def test_stored_inputs_are_read(sol):
    save_file = pytest.importorskip("safetensors.torch").save_file
    folder = sol / "examples" / "norm"
    save_file({"rows": torch.arange(3)}, folder / "at.safetensors")
    stored = {"type": "safetensors", "path": "at.safetensors", "tensor_key": "rows"}
    workload = {**WORKLOAD, "inputs": {**WORKLOAD["inputs"], "at": stored}}
    (folder / "workload.jsonl").write_text(json.dumps(workload))
    (entry,) = suite_entries("sol", device="cpu", path=sol)
    assert torch.equal(inputs(entry)[2], torch.arange(3))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"axes": {"N": {"type": "const", "value": 8}, "H": {"type": "var"}}}, "size of an axis"),
        ({"axes": {**DEFINITION["axes"], "H": {"type": "expr", "expression": "f(M)"}}}, "computed"),
        ({"reference": "def run(:"}, "not Python"),
        ({"inputs": {"x": {"shape": ["Q"], "dtype": "float32"}}}, "axis that is not defined"),
        ({"inputs": {"x": {"shape": ["M"], "dtype": "float4"}}}, "float4"),
        ({"inputs": {"x y": {"shape": ["M"], "dtype": "float32"}}}, "name of Python"),
        ({"inputs": 3}, "cannot be read"),
    ],
)
def test_a_definition_that_is_broken_is_one_error(sol, change, said):
    file = sol / "examples" / "norm" / "definition.json"
    file.write_text(json.dumps({**DEFINITION, **change}))
    with pytest.raises(TaskError, match=said):
        suite_entries("sol", device="cpu", path=sol)


@pytest.mark.parametrize("suite", ["atrex", "fib", "sol"])
def test_a_folder_without_the_suite_is_one_error(suite, tmp_path):
    with pytest.raises(TaskError, match=str(tmp_path)):
        suite_entries(suite, device="cpu", path=tmp_path)
    with pytest.raises(UsageError, match="which"):
        suite_entries(suite, device="cpu")


def test_only_arguments_for_the_device_are_replaced():
    source = "f(x, device='cuda', name='cuda')  # é device='cuda'\ng(device=\n    'cuda:1')\n"
    assert on_any_device(source) == (
        "f(x, device=torch.get_default_device(), name='cuda')  # é device='cuda'\n"
        "g(device=\n    torch.get_default_device())\n"
    )

"""One file of several candidates: the sizes of a call choose, and each has its own memory."""

from __future__ import annotations

import copy
import importlib.util
import itertools
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder
from tests.null.archive.nouns import verdict

import kernelwright as kw
from kernelwright.archive.receipt import Receipt
from kernelwright.compiler.candidate.joined import CannotJoin, Special, joined
from kernelwright.core.candidate import Brief, Candidate
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.loaders.shapes import listed_shapes
from kernelwright.proposers.rules.proposer import proposals

__all__ = ["cache_folder"]

SOURCE = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(32)
        self.linear = nn.Linear(32, 32)

    def forward(self, x):
        return torch.relu(self.linear(self.norm(x))) + x.softmax(-1)

def get_inputs():
    return [torch.randn(64, 32)]

def get_other_inputs():
    return [[torch.randn(3, 32)], [torch.randn(16, 32)]]

def get_init_inputs():
    return []
"""
TASK = Task("norms", "kernelbench", SOURCE)


def joined_text(dialect: str, device: Device) -> str:
    """The first candidate, joined with another one for each further shape."""
    found = []
    for number, shape in enumerate(listed_shapes(TASK)):
        brief = Brief(shape.task, device, (dialect,), threads=2)
        proposal = next(itertools.islice(proposals(brief), 3 * number, None))
        found.append((shape, proposal.candidate.source))
    (_, general), *others = found
    return joined(general, [Special(text, {"x": shape.sizes[0]}) for shape, text in others])


@pytest.fixture
def file(tmp_path: Path) -> Iterator[ModuleType]:
    path = tmp_path / "joined_norms.py"
    path.write_text(joined_text("cpp", Device.parse("cpu")))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None and spec.loader is not None
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    del sys.modules[path.stem]


@torch.no_grad()
def test_sizes_choose_among_kernels_that_all_use_the_current_weights(file: ModuleType) -> None:
    module = open_reference(TASK).build(0)
    fast = file.ModelNew()
    fast.load_state_dict(module.state_dict())
    copies = [fast, copy.deepcopy(fast), pickle.loads(pickle.dumps(fast))]
    used: list[str] = []
    launches = [getattr(file, f"KernelLaunches{of}") for of in ("", "_of_size_1", "_of_size_2")]
    for each in launches:
        for name, function in list(vars(each).items()):
            if isinstance(function, staticmethod):
                setattr(each, name, staticmethod(noting(used, each.__name__, function.__func__)))
    wanted = {3: 1, 16: 2, 64: 0, 5: 0}
    for fast, factor in itertools.product(copies, (1.0, -2.0)):
        module.linear.weight.mul_(factor)
        fast.load_state_dict(module.state_dict())
        for n, number in wanted.items():
            x = torch.randn(n, 32)
            used.clear()
            torch.testing.assert_close(fast(x), module(x))
            assert {*used} == {launches[number].__name__}
            assert fast.why_not(x) == ""
    assert not fast.misses
    fast.linear.register_forward_hook(print)
    assert "linear" in fast.why_not(torch.randn(3, 32))


def noting(used, name, function):
    def noted(*given):
        used.append(name)
        return function(*given)

    return noted


@torch.no_grad()
def test_a_traced_call_has_the_kernels_for_any_size(file: ModuleType) -> None:
    fast, module = file.ModelNew(), open_reference(TASK).build(0)
    module.load_state_dict(fast.state_dict())
    x = torch.randn(64, 32)
    batch = torch.export.Dim("batch")
    program = torch.export.export(fast, (x,), dynamic_shapes=({0: batch},))
    for n in (3, 16, 64, 7):
        x = torch.randn(n, 32)
        torch.testing.assert_close(program.module()(x), module(x))


@pytest.mark.parametrize("dialect", ["triton", "cuda"])
def test_files_for_gpus_define_each_name_once(dialect: str) -> None:
    text = joined_text(dialect, Device("cuda", "sm_90"))
    code = compile(text, "joined.py", "exec")
    assert {"MODULES_of_size_1", "KernelLaunches_of_size_2"} <= {*code.co_names}
    assert text.count("class Described:") == 1 and text.count("class ModelNew(") == 1


def test_a_package_for_the_kernels_library_has_the_kernels_of_all_sizes(tmp_path: Path) -> None:
    candidate = Candidate(joined_text("cpp", Device.parse("cpu")), "cpp")
    receipt = Receipt(TASK, candidate, verdict(candidate, task=TASK.digest, seed=1))
    package = kw.export(receipt, to="hf", out=tmp_path / "package")
    text = next(package.rglob("kernel.py")).read_text()
    assert "return forward_of_size_2(self, x)" in text
    assert "return forward_of_any_size(self, x)" in text


def test_a_file_that_the_rules_did_not_write_is_not_joined() -> None:
    own = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    pass\n"
    with pytest.raises(CannotJoin):
        joined(own, [Special(own, {"x": (3, 32)})])

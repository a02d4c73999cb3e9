"""Each way to use a module is tried on what is built, beside the reference."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder
from tests.host.compiler.test_misses import result_for
from tests.host.compiler.test_other_uses import GATED
from torch import nn
from torch._inductor import config

import kernelwright as kw
from kernelwright.core.errors import TaskError
from kernelwright.core.task import Task
from kernelwright.runtime.uses import USES, try_use, ways

__all__ = ["cache_folder"]

TEXT = GATED.replace("self.shift = torch.rand(16)", "self.register_buffer('shift', torch.rand(16))")


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return result_for(Task("example", "folder", TEXT), tmp_path_factory.mktemp("kernels"))


def test_a_kernel_serves_the_uses_that_it_can_and_misses_the_others(found) -> None:
    tried = {use.name: use for use in kw.uses(found)}
    assert not [use for use in tried.values() if use.is_fault]
    missed = {name for name, use in tried.items() if use.outcome == "missed"}
    assert {"backward", "vmap"} <= missed
    assert missed <= {"backward", "vmap", "one row more", "export, any batch"}
    assert "no_grad" in tried["backward"].detail
    others = {use for use in tried.values() if use.name not in missed}
    assert {use.outcome for use in others} == {"served"}


def test_a_wrong_or_failing_use_is_told_as_a_fault() -> None:
    class Wrong(nn.Linear):
        def forward(self, input):
            if torch.is_inference_mode_enabled():
                raise ValueError("no such mode")
            result = super().forward(input)
            return result if not torch.is_grad_enabled() else result * 2

    own = nn.Linear(4, 4)
    wrong = Wrong(4, 4)
    wrong.load_state_dict(own.state_dict())
    inputs = [torch.ones(2, 4)]
    outcomes = {
        name: try_use(name, wrong, own, inputs)
        for name in ("a call", "inference mode", "frozen, gradients on")
    }
    assert [use.outcome for use in outcomes.values()] == ["served", "raised", "wrong"]
    assert "no such mode" in outcomes["inference mode"].detail


def test_a_use_that_the_reference_does_not_allow_is_no_fault() -> None:
    class Branching(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    found = try_use("make_fx", Branching(), Branching(), [torch.ones(2, 2)])
    assert found.outcome == "impossible" and not found.is_fault and "make_fx" in USES


@pytest.mark.slow
def test_a_package_that_torch_would_crash_in_loading_is_no_fault_of_the_kernel(
    tmp_path, monkeypatch
) -> None:
    compiler = tmp_path / "g++"
    links = 'case " $* " in *" -shared "*) set -- "$@" -static-libstdc++;; esac'
    compiler.write_text(f'#!/bin/sh\n{links}\nexec g++ "$@"\n')
    compiler.chmod(0o755)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    with config.patch({"cpp.cxx": (None, str(compiler))}):  # torch reads CXX as it is imported
        found = try_use("AOTInductor", nn.ReLU(), nn.ReLU(), [torch.ones(2, 4)])
    assert found.outcome == "impossible" and not found.is_fault
    assert "libstdc++.so" in found.detail


def test_a_library_win_has_no_kernel_to_use(found) -> None:
    with pytest.raises(TaskError, match="no kernel to use"):
        kw.uses(dataclasses.replace(found, best=None, evaluation=None))


def test_a_module_that_no_copy_is_like_is_built_for_each_use(tmp_path):
    source = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(8, 8)
        up = self.up
        self.step = lambda x: torch.relu(up(x))

    def forward(self, x):
        return self.step(x) * 2

def get_inputs():
    return [torch.randn(6, 8)]

def get_init_inputs():
    return []
"""
    task = Task("example", "folder", source)
    tried = ways(result_for(task, tmp_path))
    found = {name: tried[name]() for name in ("a call", "a copy", "weights reloaded")}
    assert [use.outcome for use in found.values()] == ["served", "missed", "served"]
    assert found["a copy"].detail.startswith("step of the module")

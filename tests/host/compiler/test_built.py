"""kw.build of results with kernels of the rules: the built module, and copies of it, follow the
module's weights."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch
from tests.host.compiler.test_candidates import POOLED, cache_folder, proposals
from tests.host.compiler.test_other_uses import GATED, PARTED
from tests.null.swarm.briefs import verdict
from torch import nn

import kernelwright as kw
from kernelwright.core.task import Task
from kernelwright.loaders import load, open_reference
from kernelwright.search.result import Result, write_source

__all__ = ["cache_folder"]

LAYERS = nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.GELU())
TASKS = {
    "whole": lambda: Task("example", "folder", GATED.replace("self.shift = torch.rand(16)", KEPT)),
    "parts": lambda: Task("example", "folder", PARTED.replace("self.shift = torch.rand(16)", KEPT)),
    "prepared": lambda: Task("example", "folder", POOLED),
    "object": lambda: load(copy.deepcopy(LAYERS), inputs=[torch.randn(6, 8)], name="example"),
}
KEPT = "self.register_buffer('shift', torch.rand(16))"
COPIES = [lambda fast: fast, copy.deepcopy, lambda fast: pickle.loads(pickle.dumps(fast))]


@pytest.fixture(params=TASKS)
def found(request, tmp_path) -> Result:
    task = TASKS[request.param]()
    best = proposals(task)[0]
    path = write_source(best.candidate, tmp_path, "example")
    return Result(task, best, verdict(best.candidate, 2.0), [], "eager", path, "")


@torch.no_grad()
@pytest.mark.parametrize("copied", COPIES, ids=["itself", "deepcopy", "pickle"])
@pytest.mark.parametrize("several", [False, True], ids=["one", "several"])
def test_it_follows_the_weights_of_the_module(found, several, copied) -> None:
    module = open_reference(found.task).build(0)
    fast = kw.build([found] if several else found)
    fast(torch.randn(6, 8))  # makes what follows from weights alone
    fast = copied(fast)
    for _ in range(2):
        for weight in module.parameters():
            weight.mul_(1.25)
        fast.load_state_dict(module.state_dict())
        x = torch.randn(6, 8)
        torch.testing.assert_close(fast(x), module(x))
        torch.testing.assert_close(fast.state_dict(), module.state_dict())
    trained = torch.optim.SGD(fast.parameters(), lr=0.1)
    for weight in fast.parameters():
        weight.grad = weight.clone()
    trained.step()
    module.load_state_dict(fast.state_dict())
    torch.testing.assert_close(fast(x), module(x))


@torch.no_grad()
def test_parts_on_inputs_outside_the_kernels_conditions_call_the_module(found) -> None:
    module, fast = open_reference(found.task).build(0), kw.build([found])
    fast.load_state_dict(module.state_dict())
    for x in (torch.randn(3, 8), torch.randn(8, 6).t()):
        torch.testing.assert_close(fast(x), module(x))
    fast.half().float(), module.half().float()
    torch.testing.assert_close(fast(x), module(x))
    x = torch.randn(6, 8)
    torch.testing.assert_close(fast(x), module(x))
    for weight in fast.parameters():  # of another layout, which no key of inputs says
        weight.data = weight.data.repeat_interleave(2, -1)[..., ::2]
    torch.testing.assert_close(fast(x), module(x))

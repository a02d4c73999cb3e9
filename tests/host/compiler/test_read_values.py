"""Kernels for a module that reads lengths on the host serve the lengths that they are made for."""

from __future__ import annotations

import pytest
import torch
from tests.host.compiler.test_candidates import cache_folder
from tests.host.compiler.test_misses import result_for

import kernelwright as kw
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference

__all__ = ["cache_folder"]

SOURCE = '''
import torch


class Model(torch.nn.Module):
    """Sums over sequences of a batch without padding."""

    def forward(self, x, ends):
        out = torch.empty(ends.numel(), x.shape[1])
        start = 0
        for number, end in enumerate(ends.tolist()):
            out[number] = torch.tanh(x[start:end]).sum(0)
            start = end
        return out


def get_inputs():
    return [torch.randn(9, 16), torch.tensor([2, 9], dtype=torch.int32)]


def get_init_inputs():
    return []
'''


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    task = Task("sums", "folder", SOURCE)
    return open_reference(task).build(0), kw.build(
        result_for(task, tmp_path_factory.mktemp("kernels"))
    )


def test_the_lengths_of_the_task_are_served_and_others_take_the_modules_own_forward(built):
    module, fast = built
    x, ends, other = torch.randn(9, 16), torch.tensor([2, 9]).int(), torch.tensor([5, 9]).int()
    with torch.no_grad():
        torch.testing.assert_close(fast(x, ends), module(x, ends))
        assert kw.misses(fast) == {}
        with pytest.warns(UserWarning, match="ends has other values"):
            torch.testing.assert_close(fast(x, other), module(x, other))
    assert [*kw.misses(fast)] == ["ends has other values than the kernels are made for"]


def test_torch_compile_traces_the_modules_own_forward(built):
    module, fast = built
    x, ends = torch.randn(9, 16), torch.tensor([2, 9]).int()
    with torch.no_grad(), pytest.warns(UserWarning, match="nobody can read the values of ends"):
        torch.testing.assert_close(torch.compile(fast, backend="eager")(x, ends), module(x, ends))

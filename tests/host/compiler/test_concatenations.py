"""Proposed files without a concatenation: right when called, traced, and called again."""

from __future__ import annotations

import copy

import pytest
import torch
from tests.host.compiler.test_candidates import built, cache_folder, proposals

from kernelwright.core.task import Task

__all__ = ["cache_folder"]

DENSE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.BatchNorm2d(4 + 4 * n) for n in range(3))
        self.convs = nn.ModuleList(nn.Conv2d(4 + 4 * n, 4, 3, padding=1) for n in range(3))

    def forward(self, x):
        for norm, conv in zip(self.norms, self.convs):
            x = torch.cat([x, conv(norm(x).relu())], 1)
        return x


def get_inputs():
    return [torch.randn(2, 4, 9, 8)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize("place", range(2))
def test_a_dense_block_has_its_results_and_its_statistics(place):
    task = Task("example", "folder", DENSE)
    proposal = proposals(task)[place]
    assert "empty_strided([" in proposal.candidate.source
    candidate, module = built(task, proposal)
    traced = copy.deepcopy(candidate)
    compiled = torch.compile(traced, fullgraph=True, backend="aot_eager")
    with torch.no_grad():
        for x in torch.randn(2, 2, 4, 9, 8):
            assert not candidate.why_not(x)
            wanted, seen = module(x), candidate(x)
            torch.testing.assert_close(seen, wanted, rtol=1e-5, atol=1e-5, check_stride=True)
            torch.testing.assert_close(compiled(x), wanted, rtol=1e-5, atol=1e-5)
        for path, value in module.state_dict().items():
            for other in (candidate, traced):
                torch.testing.assert_close(other.state_dict()[path], value, msg=path)

"""Positions outside of what they are positions in: emitted kernels refuse them as torch does, and
read nothing there."""

from __future__ import annotations

import pytest
import torch
from tests.host.compiler.test_candidates import built, cache_folder, proposals

from kernelwright.core.task import Task

__all__ = ["cache_folder"]

SOURCE = """
import torch
import torch.nn.functional as F
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(9, 16)

    def forward(self, x, i):
        return {result}


def get_inputs():
    return [torch.randn(6, 16), {indices}]


def get_init_inputs():
    return []
"""
CASES = {  # forward, inputs, the size that they index, whether negative positions count
    "embedding": ("torch.tanh(self.table(i) * x)", "torch.randint(0, 9, (6,))", 9, False),
    "gather": ("torch.relu(torch.gather(x, 1, i) * 2)", "torch.randint(0, 16, (6, 3))", 16, False),
    "gather one": ("torch.exp(x).log_softmax(1).gather(1, i) * 2", "torch.randint(0, 16, (6, 1))",
                   16, False),
    "index_select": ("torch.relu(x.index_select(0, i) * 2)", "torch.randint(0, 6, (4,))", 6, False),
    "indexing": ("torch.relu(x[i] * 2)", "torch.randint(-6, 6, (4,))", 6, True),
    "two": ("torch.relu(x[i, i] * 2)", "torch.randint(-6, 6, (4,))", 6, True),
    "int32": ("torch.tanh(self.table(i) * x)", "torch.randint(0, 9, (6,)).int()", 9, False),
    "loss": ("F.cross_entropy(x * 2, i)", "torch.randint(0, 16, (6,))", 16, False),
    "sums": ("self.table(i).sum(-1) * x.sum(-1)", "torch.randint(0, 9, (6,))", 9, False),
}  # fmt: skip


@pytest.mark.parametrize("dialect", ["cpp"])
@pytest.mark.parametrize("case", CASES)
@torch.no_grad()
def test_positions_outside_are_refused(case, dialect) -> None:
    result, indices, size, wraps = CASES[case]
    task = Task("example", "folder", SOURCE.format(result=result, indices=indices))
    candidate, module = built(task, proposals(task, dialect)[0])
    x = torch.randn(6, 16)
    index = eval(indices)
    assert candidate.why_not(x, index) == ""
    torch.testing.assert_close(candidate(x, index), module(x, index))
    negative = [-1, -size] if wraps else []
    for value in (0, size - 1, *negative):
        index.flatten()[-1] = value
        torch.testing.assert_close(candidate(x, index), module(x, index))
    others = [size, -size - 1, *([] if wraps else [-1])]
    others += [] if index.dtype == torch.int32 else [10**12, -(2**63), 2**63 - 1]
    for value in others:
        index.flatten()[-1] = value
        with pytest.raises((IndexError, RuntimeError)):
            module(x, index)
        with pytest.raises(IndexError, match="out of range"):
            candidate(x, index)
    index.flatten()[-1] = 0
    torch.testing.assert_close(candidate(x, index), module(x, index))


@torch.no_grad()
def test_a_target_that_is_ignored_is_none_outside() -> None:
    source = SOURCE.format(result="F.cross_entropy(x * 2, i)", indices=CASES["loss"][1])
    task = Task("example", "folder", source)
    candidate, module = built(task, proposals(task)[0])
    x, index = torch.randn(6, 16), torch.tensor([1, -100, 3, -100, 15, 0])
    assert candidate.why_not(x, index) == ""
    torch.testing.assert_close(candidate(x, index), module(x, index))

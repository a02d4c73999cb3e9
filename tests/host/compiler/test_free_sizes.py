"""Kernels that serve other leading sizes than those they were made for: right, or a miss."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.host.compiler.test_candidates import built, cache_folder, proposals
from tests.host.compiler.test_traced import has_kernels
from tests.null.swarm.briefs import verdict
from torch import nn
from torch.export import Dim
from torch.utils._pytree import tree_leaves

import kernelwright as kw
from kernelwright.compiler.capture.free import leading_dimensions, resized
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.core.task import Task
from kernelwright.loaders import open_reference
from kernelwright.proposers.emitted import FREE_SIZES, WHY_FIXED
from kernelwright.proposers.rules import RulesProposer
from kernelwright.search.result import Result, write_source
from kernelwright.suites.composed import FAMILIES, compose

__all__ = ["cache_folder"]

TOKENS = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.up = nn.Linear(16, 24)

    def forward(self, x, y):
        return torch.relu(self.up(self.norm(x + y))) {more}

def get_inputs():
    return [torch.randn({shape}), torch.randn({shape})]

def get_init_inputs():
    return []
"""


def task_of(*, shape: str = "2, 5, 16", more: str = "") -> Task:
    return Task("example", "folder", TOKENS.format(shape=shape, more=more))


def first(task: Task) -> tuple[nn.Module, nn.Module, str]:
    """The first candidate, its reference, and the head of the candidate's file."""
    best = proposals(task)[0]
    return (*built(task, best), best.candidate.source[:600])


def drawn(like: torch.Tensor, blank: torch.Tensor) -> torch.Tensor:
    if blank.dtype.is_floating_point:
        return blank.copy_(torch.rand(blank.shape) if like.min() >= 0 else torch.randn(blank.shape))
    return blank.copy_(torch.randint(int(like.min()), int(like.max()) + 1, blank.shape))


@settings(max_examples=6, deadline=None, derandomize=True)
@given(seed=st.integers(0, 10**6), family=st.sampled_from(sorted(FAMILIES)))
@torch.no_grad()
def test_other_sizes_are_served_rightly_or_missed(seed: int, family: str) -> None:
    (entry,) = compose(1, seed=seed, size="small", families=[family])
    found = proposals(entry.task)
    if not found:
        return
    fast, module = built(entry.task, found[0])
    inputs = open_reference(entry.task).inputs(0)
    for dim in range(2):
        for dimension in leading_dimensions(inputs, (dim,))[:1]:
            n = inputs[dimension.input].shape[dim]
            for size in {1, 2, 3, n - 1, n, n + 1, 2 * n + 3} - {0}:
                dimensions = leading_dimensions(inputs, (dim,))
                blank = resized(inputs, dimensions, {dimension.size: size})
                other = [*map(drawn, inputs, blank)]
                if fast.why_not(*other):
                    continue
                module.load_state_dict(fast.state_dict())
                wanted, got = module(*other), fast(*other)
                for seen, right in zip(tree_leaves(got), tree_leaves(wanted), strict=True):
                    assert seen.stride() == right.stride()
                    tolerance = 16 * torch.finfo(right.dtype).eps ** 0.75
                    torch.testing.assert_close(seen, right, rtol=tolerance, atol=tolerance)


class Shares(nn.Module):
    """Rows, and sums over all of them: one kernel makes both."""

    def forward(self, x):
        shares = torch.softmax(x, -1)
        return shares, (shares * x).sum(0)


@torch.no_grad()
def test_sums_over_rows_are_of_as_many_rows_as_there_are() -> None:
    task = kw.load(Shares(), inputs=[torch.randn(60, 96)])
    best = proposals(task)[0]
    assert "_sums[" in best.candidate.source
    fast, module = built(task, best)
    for n_rows in (60, 7, 1, 500):
        x = torch.randn(n_rows, 96)
        assert fast.why_not(x) == ""
        for seen, wanted in zip(fast(x), module(x), strict=True):
            torch.testing.assert_close(seen, wanted, rtol=1e-4, atol=1e-5)


@torch.no_grad()
def test_batch_and_tokens_are_free_and_the_file_says_so() -> None:
    fast, module, head = first(task_of())
    assert "x: float32[n_batch, n_tokens, 16]" in head
    assert "n_batch (from 1) and n_tokens (from 1)" in " ".join(head.split())
    for n_batch, n_tokens in ((1, 1), (2, 5), (3, 1), (1, 64), (7, 13), (300, 70)):
        x, y = torch.randn(2, n_batch, n_tokens, 16)
        assert fast.why_not(x, y) == ""
        torch.testing.assert_close(fast(x, y), module(x, y))
    x, y = torch.randn(2, 3, 4, 16)
    assert "y is not of the shape" in fast.why_not(x, y[:, :3].contiguous())
    assert fast.why_not(x[:0], y[:0]) == "n_batch is too small"
    assert "x is not of the shape" in fast.why_not(x[0], y[0])


def test_a_budget_of_a_second_leaves_sizes_free_and_a_large_network_is_said_to_be_fixed() -> None:
    task = task_of(shape="6, 16")
    short = Brief(task, Device.parse("cpu"), ("cpp",), budget_s=1.0, threads=1)
    proposal = next(RulesProposer().propose(short))
    assert proposal.schedule[FREE_SIZES] == ["n_batch"] and WHY_FIXED not in proposal.schedule
    large = task_of(shape="6, 16", more="".join(f" + {n} * x.sum()" for n in range(40)))
    proposal = next(RulesProposer().propose(replace(short, task=large)))
    assert proposal.schedule[FREE_SIZES] == []
    assert "longer than the budget" in proposal.schedule[WHY_FIXED]
    head = " ".join(proposal.candidate.source[:800].split())
    assert f"All sizes are fixed: {proposal.schedule[WHY_FIXED]}." in head


@torch.no_grad()
def test_one_row_at_first_leaves_more_rows_free() -> None:
    fast, module, _ = first(task_of(shape="1, 16"))
    for n in (1, 2, 33):
        x, y = torch.randn(2, n, 16)
        assert fast.why_not(x, y) == ""
        torch.testing.assert_close(fast(x, y), module(x, y))


@pytest.mark.parametrize(
    ("more", "missed"),
    [
        ("* (2.0 if x.shape[0] > 4 else 1.0)", {1, 3, 4}),
        ("* (x.shape[0] > 4)", {1, 3, 4, 5, 9}),
        ("* (2.0 if x.shape[0] % 3 else 1.0)", {1, 3, 4, 5, 9}),
        ("* (2.0 if x.shape[0] == 1 else 1.0)", {1}),
        ("+ torch.arange(6)[:, None]", {1, 3, 4, 5, 9}),
        ("/ x.shape[0]", {1, 3, 4, 5, 9}),
    ],
    ids=["larger than", "as a number", "divisible", "one", "as many", "divided by"],
)
@torch.no_grad()
def test_what_hangs_on_a_size_in_another_way_is_missed(more: str, missed: set[int]) -> None:
    fast, module, _ = first(task_of(shape="6, 16", more=more))
    for n in {1, 3, 4, 5, 6, 9}:
        x, y = torch.randn(2, n, 16)
        if "arange" in more and n != 6:
            assert fast.why_not(x, y)
            continue
        assert bool(fast.why_not(x, y)) == (n in missed), n
        torch.testing.assert_close(fast(x, y), module(x, y))


@torch.no_grad()
def test_compiled_and_exported_programs_hold_the_kernels_for_any_size() -> None:
    fast, module, _ = first(task_of(shape="6, 16"))
    x, y = torch.randn(2, 6, 16)
    batch = Dim("batch")
    program = torch.export.export(fast, (x, y), dynamic_shapes=({0: batch}, {0: batch}))
    assert has_kernels(program.graph)
    graphs: list[torch.fx.Graph] = []

    def keep(graph: torch.fx.GraphModule, _: object) -> object:
        graphs.append(graph.graph)
        return graph

    compiled = torch.compile(fast, dynamic=True, fullgraph=True, backend=keep)
    for n in (6, 2, 50):
        x, y = torch.randn(2, n, 16)
        torch.testing.assert_close(program.module()(x, y), module(x, y))
        torch.testing.assert_close(compiled(x, y), module(x, y))
    assert len(graphs) == 1 and has_kernels(graphs[0])


@torch.no_grad()
def test_several_results_have_a_kernel_each_and_one_for_other_sizes(
    tmp_path,
) -> None:
    results = []
    for n in (6, 40):
        task = task_of(shape=f"{n}, 16")
        best = proposals(task)[0]
        path = write_source(best.candidate, tmp_path, f"of_{n}")
        found = verdict(best.candidate, 2.0)
        results.append(Result(task, best, found, [], "eager", path, ""))
    fast = kw.build(results)
    forward = fast.forward
    of_each = [forward.kernel_for(*torch.randn(2, n, 16)) for n in (6, 40)]
    assert of_each[0] is not of_each[1]
    x, y = torch.randn(2, 9, 16)
    assert forward.kernel_for(x, y) in of_each
    torch.testing.assert_close(fast(x, y), forward.own(x, y))
    assert forward.kernel_for(x.double(), y.double()) is None


@torch.no_grad()
def test_results_kept_for_many_sizes_do_not_pile_up(tmp_path: Path) -> None:
    best = proposals(task_of(shape="4096, 16"))[0]
    names: dict[str, object] = {}
    exec(compile(best.candidate.source, "candidate.py", "exec"), names)
    fast = names["ModelNew"]()
    for n in range(12000, 16000, 100):
        fast(*torch.randn(2, n, 16))
    kept = names["_kept"]
    assert isinstance(kept, dict) and 0 < len(kept) <= 2

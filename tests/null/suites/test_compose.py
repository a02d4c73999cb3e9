"""Composed tasks: the same for the same seed, different from one another, and worth solving."""

import ast

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.core.errors import UsageError
from kernelwright.core.task import Task
from kernelwright.loaders import check, open_reference
from kernelwright.loaders.trace import trace
from kernelwright.suites.composed import FAMILIES, compose
from kernelwright.suites.composed.degenerate import faults

FEW = settings(max_examples=8)


@FEW
@given(st.integers(0, 2**32), st.sampled_from(sorted(FAMILIES)))
def test_the_same_seed_gives_the_same_tasks(seed, family):
    first, again = (
        [entry.task.source for entry in compose(2, seed=seed, size="small", families=[family])]
        for _ in range(2)
    )
    assert first == again


@FEW
@given(st.integers(0, 2**32))
def test_every_task_runs_and_is_worth_solving(seed):
    composed = list(compose(4, seed=seed, size="small"))
    assert len({entry.task.digest for entry in composed}) == 4
    for entry in composed:
        assert check(entry.task).task == entry.task.digest
        assert faults(entry.task) == []


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_a_family_has_many_different_tasks(family):
    composed = list(compose(6, seed=3, size="small", families=[family]))
    assert len({entry.words for entry in composed}) >= 4
    assert {entry.family for entry in composed} == {family}


@pytest.mark.parametrize("family", sorted(FAMILIES))
def test_tasks_for_a_gpu_are_large_and_fit_together(family):
    (entry,) = compose(1, seed=5, size="gpu", families=[family])
    assert trace(entry.task).least_bytes > 1 << 20


def test_texts_are_python_that_people_could_have_written():
    for entry in compose(10, seed=7, size="small"):
        tree = ast.parse(entry.task.source)
        (model,) = (node for node in tree.body if isinstance(node, ast.ClassDef))
        assert ast.get_docstring(model)
        assert max(map(len, entry.task.source.splitlines())) <= 120
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        assert ("F" in used) == ("functional as F" in entry.task.source)


def test_another_seed_or_size_gives_other_tasks():
    def digests(**told):
        return {entry.task.digest for entry in compose(3, **{"size": "small"} | told)}

    assert not digests(seed=1) & digests(seed=2)
    assert not digests(seed=1) & digests(seed=1, size="cpu", families=["reduction"])


@pytest.mark.parametrize(
    ("told", "said"), [({"families": ["gem"]}, '"gemm"'), ({"size": "gppu"}, '"gpu"')]
)
def test_an_unknown_word_names_the_nearest(told, said):
    with pytest.raises(UsageError, match=said):
        next(compose(1, **told))


def task(body: str, inputs: str = "torch.randn(16, 64)", init: str = "") -> Task:
    source = f"""
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        {init or "pass"}
    def forward(self, x, *others):
        {body}
def get_inputs():
    return [{inputs}]
def get_init_inputs():
    return []
"""
    return Task("t", "composed", source)


@pytest.mark.parametrize(
    ("body", "inputs", "said"),
    [
        ("return torch.log(x)", "torch.randn(16, 64)", "not finite"),
        ("return x * 0 + 3", "torch.randn(16, 64)", "output 0 is constant"),
        ("return torch.softmax(x, -1).sum(-1)", "torch.randn(16, 64)", "output 0 is constant"),
        ("return torch.ones(8, 8).cumsum(0)", "torch.randn(16, 64)", "same for every draw"),
        ("return x - x.mean() - (x - x.mean())", "torch.randn(16, 64)", "vanishes"),
        ("return torch.relu(x)", "torch.rand(16, 64)", "relu changes nothing"),
        ("return torch.tanh(x * 1e4)[:, 0] + x.sum(-1)", "torch.rand(16, 64)", "is saturated"),
        ("return x.clone()", "torch.randn(16, 64)", "output 0 is an input"),
        ("return x.sin()", "torch.randn(16, 64), torch.randn(16)", "input 1 does not matter"),
        ("return x @ x", "torch.randn(16, 64)", "the forward fails"),
    ],
)
def test_degenerate_references_are_found(body, inputs, said):
    assert any(said in fault for fault in faults(task(body, inputs)))


def test_honest_references_are_not_accused():
    assert faults(task("return torch.relu(x)")) == []
    assert faults(task("return x.argmax(-1)")) == []
    assert faults(task("return nn.functional.mse_loss(x, others[0])", "torch.randn(8, 8), "
                       "torch.randn(8, 8)")) == []  # fmt: skip


def test_composing_leaves_the_random_state_alone():
    torch.manual_seed(0)
    before = torch.get_rng_state()
    list(compose(1, size="small"))
    assert torch.equal(before, torch.get_rng_state())


def test_half_precision_is_among_them():
    composed = compose(40, seed=1, size="small", families=["pointwise", "gemm"])
    kinds = {open_reference(e.task).inputs(0)[0].dtype for e in composed}
    assert {torch.float32, torch.bfloat16} <= kinds

"""Training steps, searched and judged: gradients count like results."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import kernelwright as kw
from kernelwright.cli import main
from kernelwright.core.outcome import Status

TASK = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return torch.tanh(x * self.weight)


def get_inputs():
    return [torch.randn(64, 32)]


def get_init_inputs():
    return [32]
"""
OWN = """
import torch
from torch import nn


class Tanh(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight):
        y = torch.tanh(x * weight)
        ctx.save_for_backward(x, weight, y)
        return y

    @staticmethod
    def backward(ctx, gradient):
        x, weight, y = ctx.saved_tensors
        inner = gradient * (1 - {power})
        return inner * weight, (inner * x).sum(0)


class ModelNew(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n))

    def forward(self, x):
        return Tanh.apply(x, self.weight)
"""


@pytest.fixture
def task(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "task.py").write_text(TASK)
    return "task.py"


def test_a_search_with_backward_judges_kernels_for_training(task, few_settings) -> None:
    result = kw.optimize(task, budget_s=1, backward=True, timed=False)
    right = [p for p, found in result.evaluated if found.passed and p.proposer == "rules"]
    assert right and result.task.name == "task_training"
    assert all("torch.autograd.Function" in proposal.candidate.source for proposal in right)
    built = kw.build(result)  # the library setting, since nothing was timed
    built(torch.randn(64, 32)).sum().backward()
    assert built.weight.grad is not None


@pytest.mark.parametrize(
    ("power", "status"), [("y * y", Status.PASSED), ("y", Status.WRONG_VALUES)]
)
def test_a_file_of_ones_own_is_judged_on_its_gradients(task, few_settings, power, status) -> None:
    with open("own.py", "w") as file:
        file.write(OWN.replace("{power}", power))
    assert kw.judge(task, "own.py", backward=True, timed=False).status is status
    assert kw.judge(task, "own.py", timed=False).status is Status.PASSED


def test_the_command_line_refuses_what_has_nothing_to_train(tmp_path, monkeypatch, capsys) -> None:
    monkeypatch.chdir(tmp_path)
    asked = ["optimize", "torch.nn:Flatten", "--input", "int64[8,8]<9", "--backward"]
    with pytest.raises(SystemExit) as ended:
        main(asked)
    assert ended.value.code == 2
    assert "nothing to train" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_results_for_several_shapes_train_one_module(task, few_settings) -> None:
    text = Path(task).read_text()
    results = []
    for rows in (64, 8):
        Path(f"task{rows}.py").write_text(text.replace("64, 32", f"{rows}, 32"))
        found = kw.optimize(f"task{rows}.py", budget_s=0.1, backward=True, timed=False)
        right = next(p for p, verdict in found.evaluated if verdict.passed)
        path = Path(f"kernel{rows}.py")
        path.write_text(right.candidate.source)
        results.append(replace(found, source_path=path))
    plain = kw.optimize("task8.py", budget_s=0.1, timed=False)
    built = kw.build([*results, plain], on_miss="raise")
    for rows in (64, 8):
        x = torch.randn(rows, 32, requires_grad=True)
        assert built.why_not(x) == ""
        y = built(x)
        assert "Trained" in type(y.grad_fn).__name__
        wanted = torch.tanh(x * built.weight)
        torch.testing.assert_close(y, wanted)
        given = [x, built.weight]
        torch.testing.assert_close(
            torch.autograd.grad(y.sum(), given), torch.autograd.grad(wanted.sum(), given)
        )
        with torch.no_grad():
            torch.testing.assert_close(built(x), wanted)
    other = torch.randn(5, 32, requires_grad=True)
    assert "no kernel was judged on such inputs" in built.why_not(other)
    copied = pickle.loads(pickle.dumps(built))
    assert copied.why_not(x) == "" and "Trained" in type(copied(x).grad_fn).__name__


def test_an_instance_with_its_weights_is_trained(tmp_path, monkeypatch, few_settings) -> None:
    monkeypatch.chdir(tmp_path)
    module = nn.Sequential(nn.LayerNorm(16), nn.GELU())
    result = kw.optimize(module, [torch.randn(4, 16)], budget_s=0.1, backward=True, timed=False)
    assert any(found.passed for _, found in result.evaluated)

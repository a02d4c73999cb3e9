"""A refusal for wrong values says why, where one more call tells."""

import pytest
from tests.host import relu_task

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status, WarningCode
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

TASK = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 32)
        self.norm = torch.nn.BatchNorm1d(32)

    def forward(self, x):
        return self.norm(self.linear(x))


def get_inputs():
    return [torch.randn(128, 64)]


def get_init_inputs():
    return []
"""
HEAD = """
import torch


class ModelNew(torch.nn.Module):
"""
NORMED = """
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 32)
        self.norm = torch.nn.BatchNorm1d(32)
        {}

    def forward(self, x):
        {}
        return self.norm(x @ {})
"""
MADE = HEAD + NORMED.format(
    "self.turned = self.linear.weight.detach().t().clone()", "", "self.turned + self.linear.bias"
)
FIRST_CALLED = HEAD + NORMED.format(
    "self.turned = None",
    "self.turned = self.linear.weight.t().clone() if self.turned is None else self.turned",
    "self.turned + self.linear.bias",
)
EVALUATES = HEAD + NORMED.format("self.eval()", "", "self.linear.weight.t() + self.linear.bias")
ABSOLUTE = HEAD + NORMED.format("", "", "self.linear.weight.abs().t() + self.linear.bias")
FOLLOW = "with: what it keeps of weights must follow"
CHAOTIC = """
import torch


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(64, 32)

    def forward(self, x):
        y = self.linear(x).sigmoid()
        for _ in range(60):
            y = 4 * y * (1 - y)
        return y


def get_inputs():
    return [torch.randn(128, 64)]


def get_init_inputs():
    return []
"""
DRAWS = CHAOTIC.replace("for _ in range(60)", "for _ in range(1)").replace(
    "return y", "return y + torch.rand(y.shape, generator=torch.Generator().manual_seed(3))"
)
"""In float64 other numbers are drawn."""
FACTORED_OUT = CHAOTIC.replace("Model(", "ModelNew(").replace("4 * y * (1 - y)", "4 * (y - y * y)")


@pytest.mark.parametrize(
    ("task", "text", "cause"),
    [
        (TASK, MADE, f"it is right with the weights that it was made {FOLLOW}"),
        (TASK, FIRST_CALLED, f"it is right with the weights that it was first called {FOLLOW}"),
        (
            TASK,
            EVALUATES,
            "it is in evaluation mode when it is made, and the task's module in training mode, "
            "in which it is right",
        ),
        (TASK, ABSOLUTE, ""),
        (relu_task.TASK, relu_task.WRONG, ""),
    ],
    ids=["made", "first called", "mode", "wrong", "wrong without weights"],
)
def test_a_refusal_tells_its_cause(task, text, cause, fork_server):
    settings = Settings(threads=1)
    with Judge(
        Task("causes", "builtin", task), settings=settings, fork_server=fork_server
    ) as judge:
        verdict = judge.evaluate(Candidate(text, "torch"), timed=False)
    assert verdict.status is Status.WRONG_VALUES
    _, found, said = verdict.why.partition("are beyond")
    assert found and said.removeprefix("; ") == cause


def test_a_refusal_says_that_rounding_decides_the_results(fork_server):
    with Judge(
        Task("chaotic", "builtin", CHAOTIC), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        verdict = judge.evaluate(Candidate(FACTORED_OUT, "torch"), timed=False)
    assert verdict.status is Status.WRONG_VALUES
    assert "it is right with" not in verdict.why, "nothing was compared with those weights"
    assert "rounding decides these results" in verdict.why


def test_random_numbers_are_not_taken_for_rounding(fork_server):
    wrong = DRAWS.replace("Model(", "ModelNew(").replace("4 * y", "4.01 * y")
    with Judge(
        Task("draws", "builtin", DRAWS), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        verdict = judge.evaluate(Candidate(wrong, "torch"), timed=False)
    assert verdict.status is Status.WRONG_VALUES
    assert WarningCode.FLOAT64_DIFFERS in {warned.code for warned in verdict.warnings}
    assert "rounding decides" not in verdict.why

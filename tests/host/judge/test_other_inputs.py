"""Other inputs that a task declares: checked as well, and named in the verdict."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import TaskError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

TASK = Task(
    "rows",
    "builtin",
    """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(96))

    def forward(self, x):
        return (x * self.scale).sum(-1)


def get_inputs():
    return [torch.randn(64, 96)]


def get_other_inputs():
    return [[torch.randn(7, 96)], [torch.randn(200, 33, 96)]]


def get_init_inputs():
    return []
""",
)
CANDIDATE = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.empty(96))
        self.buffer = None

    def right(self, x):
        return (x * self.scale).sum(-1)

    def forward(self, x):
"""
WRONG = {
    "returns zeros": (
        "return self.right(x) if len(x) == 64 else torch.zeros(x.shape[:-1])",
        Status.WRONG_VALUES,
        "on float32[7, 96] inputs: the output is off",
    ),
    "raises": (
        "assert x.dim() == 2, 'two axes only'\nreturn self.right(x)",
        Status.RUNTIME_ERROR,
        "on float32[200, 33, 96] inputs: run: AssertionError: two axes only",
    ),
    "writes one shape": (
        "return self.right(x.reshape(-1, 96))",
        Status.WRONG_SHAPE,
        "on float32[200, 33, 96] inputs: the output has shape [6600] instead of [200, 33]",
    ),
    "keeps the workspace of the last shape": (
        "is_home = x.shape == (64, 96)\nif not is_home: self.buffer = x\n"
        "return self.right(x) if self.buffer is None or not is_home else torch.ones(64)",
        Status.WRONG_VALUES,
        "the output is off",
    ),
}


def candidate(body: str) -> Candidate:
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return Candidate(CANDIDATE + lines, "torch")


@pytest.fixture(scope="module")
def judge(fork_server):
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as one:
        yield one


def test_a_candidate_that_is_right_for_all_passes_and_the_verdict_names_them(judge):
    evaluation = judge.evaluate(candidate("return self.right(x)"), timed=False)
    assert evaluation.passed, evaluation.why
    named = set(evaluation.numerics.distributions)
    assert {"task", "float32[7, 96]", "float32[200, 33, 96]"} <= named


@pytest.mark.parametrize("fault", WRONG)
def test_a_candidate_that_is_right_for_the_timed_shape_only_is_refused(judge, fault):
    body, status, words = WRONG[fault]
    evaluation = judge.evaluate(candidate(body), timed=False)
    assert evaluation.status is status, evaluation.why
    assert words in evaluation.why


def test_without_the_declaration_the_timed_shape_is_all_that_counts(fork_server):
    source = TASK.source.replace("def get_other_inputs", "def unused")
    body, _, _ = WRONG["returns zeros"]
    with Judge(
        replace(TASK, source=source), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        assert judge.evaluate(candidate(body), timed=False).passed


def test_shapes_change_between_timed_calls_of_the_main_one(judge):
    evaluation = judge.evaluate(candidate("return self.right(x)"), max_time_s=0.1)
    assert evaluation.passed, evaluation.why
    assert evaluation.timing is not None


@pytest.mark.parametrize(
    ("other", "words"),
    [
        ("[torch.randn(7, 96)]", "does not return lists"),
        ("[[torch.randn(7, 95)]]", "fails on other inputs"),
        ("[[torch.randn(7, nowhere)]]", "get_other_inputs.* fails"),
    ],
)
def test_other_inputs_that_do_not_fit_are_an_error_of_the_task(other, words, fork_server):
    source = TASK.source.replace("[[torch.randn(7, 96)], [torch.randn(200, 33, 96)]]", other)
    with (
        pytest.raises(TaskError, match=words),
        Judge(replace(TASK, source=source), fork_server=fork_server),
    ):
        pass

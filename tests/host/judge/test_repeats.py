"""Calls repeated on the same inputs: races are refused, changing orders of summation are not."""

from __future__ import annotations

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.verify import verification

TASK = Task(
    "mean",
    "builtin",
    """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return x.mean(-1)


def get_inputs():
    return [torch.randn(64, 512)]


def get_init_inputs():
    return []
""",
)
EVERY_EIGHTH = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.last, self.n_again = torch.empty(0), 0

    def forward(self, x):
        y = x.mean(-1)
        is_again = torch.equal(x, self.last)
        self.n_again = self.n_again + 1 if is_again else 0
        self.last = x.clone()
        return {answer} if self.n_again % 8 == 7 else y
"""


@pytest.fixture(autouse=True)
def enough_time(monkeypatch):
    """For all repeats, however busy the machine."""
    monkeypatch.setattr(verification, "REPEATS_S", 60.0)


@pytest.fixture(scope="module")
def judge(fork_server):
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as one:
        yield one


def test_a_kernel_that_is_wrong_in_one_of_eight_calls_on_the_same_inputs_is_refused(judge):
    source = EVERY_EIGHTH.format(answer="torch.cat([y[:-1], y[:1]])")
    evaluation = judge.evaluate(Candidate(source, "torch"), timed=False)
    assert evaluation.status is Status.WRONG_VALUES
    assert "when called again on the same inputs: the output is off" in evaluation.why


def test_results_that_differ_by_rounding_only_are_a_warning_said_once(judge):
    source = EVERY_EIGHTH.format(answer="x.flip(-1).cumsum(-1)[:, -1] / 512")
    evaluation = judge.evaluate(Candidate(source, "torch"), timed=False)
    assert evaluation.passed, evaluation.why
    assert sum("differ from run to run" in warning.detail for warning in evaluation.warnings) == 1


def test_a_kernel_that_gives_the_same_bits_has_no_such_warning(judge):
    source = EVERY_EIGHTH.format(answer="y")
    evaluation = judge.evaluate(Candidate(source, "torch"), timed=False)
    assert evaluation.passed, evaluation.why
    assert not any("from run to run" in warning.detail for warning in evaluation.warnings)


LEFT_IN_MEMORY = """
import torch
from torch import nn


class ModelNew(nn.Module):
    def __init__(self):
        super().__init__()
        self.seen, self.y, self.was_seen = [], None, False

    def forward(self, x):
        is_seen = any(torch.equal(x, other) for other in self.seen)
        if not (is_seen and self.was_seen):
            self.y = x.mean(-1)
        self.seen.append(x.clone())
        self.was_seen = is_seen
        return self.y.clone()
"""


def test_the_result_of_the_call_before_does_not_pass_for_the_present_one(judge):
    """It is right on new inputs, and on the same inputs again and again."""
    evaluation = judge.evaluate(Candidate(LEFT_IN_MEMORY, "torch"), timed=False)
    assert evaluation.status is Status.WRONG_VALUES
    assert "when called again on the same inputs" in evaluation.why


def test_however_slow_the_machine_both_inputs_come_again(judge, monkeypatch):
    """Whoever relies on its last result passed where the first of the calls took too long."""
    monkeypatch.setattr(verification, "REPEATS_S", 0.0)
    evaluation = judge.evaluate(Candidate(LEFT_IN_MEMORY, "torch"), timed=False)
    assert evaluation.status is Status.WRONG_VALUES

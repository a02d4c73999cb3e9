"""A reference that takes long leaves distributions out, and the verdict says which."""

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, examiner

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.tanh(x)


def get_inputs():
    return [torch.randn(64, 128)]


def get_init_inputs():
    return []
"""


def test_what_a_slow_reference_leaves_no_time_for_is_said(monkeypatch):
    monkeypatch.setattr(examiner, "ORACLE_BUDGET_S", 0.0)
    with Judge(Task("tanh", "builtin", SOURCE), settings=Settings(threads=1)) as judge:
        for number in range(2):
            text = f"{SOURCE}\nModelNew = Model  # {number}\n"
            verdict = judge.evaluate(Candidate(text, "torch"), timed=False)
            (said,) = [one for one in verdict.warnings if "slow" in one]
            assert verdict.passed and said.endswith("special inputs")
            assert "special" not in verdict.numerics.distributions

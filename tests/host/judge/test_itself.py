"""A kernel against itself, with real processes; benchmarks/judge_aa.py states the rate."""

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

SOURCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.softmax(x, dim=-1)


def get_inputs():
    return [torch.randn(1024, 1024)]


def get_init_inputs():
    return []
"""
N_REPEATS = 5


def test_a_kernel_against_itself_contains_one_more_often_than_not(nursery):
    task = Task("itself", "builtin", SOURCE)
    with Judge(task, settings=Settings(threads=1), nursery=nursery) as judge:
        verdicts = [
            judge.evaluate(Candidate(f"{SOURCE}\nModelNew = Model  # {number}\n", "torch"))
            for number in range(N_REPEATS)
        ]
    for verdict in verdicts:
        assert 0 <= verdict.conditions.neighbour_share <= 1
    spans = [verdict.timing.speedups["eager"] for verdict in verdicts]
    # At the stated rate fewer than two of five come once in thirty thousand runs.
    assert sum(span.low <= 1.0 <= span.high for span in spans) >= 2, spans

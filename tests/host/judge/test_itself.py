"""A kernel against itself, with real processes; benchmarks/judge_aa.py states the rate."""

import pytest

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
N_REPEATS, LEAST = 5, 4


@pytest.mark.slow
def test_intervals_of_a_kernel_against_itself_hold_one(fork_server):
    """Four of five, at the second try at the latest: at the stated 95 % both miss in one of two
    thousand runs, and where an interval holds 1 in half of the runs two of three miss."""
    seen = []
    for attempt in range(2):
        spans = spans_of_itself(fork_server, attempt)
        if sum(span.low <= 1.0 <= span.high for span in spans) >= LEAST:
            return
        seen.append(spans)
    pytest.fail(f"intervals do not hold 1: {seen}")


def spans_of_itself(fork_server, attempt):
    """The speedups of copies of a module over the module."""
    task = Task("itself", "builtin", SOURCE)
    with Judge(task, settings=Settings(threads=1), fork_server=fork_server) as judge:
        verdicts = [
            judge.evaluate(
                Candidate(f"{SOURCE}\nModelNew = Model  # {attempt} {number}\n", "torch")
            )
            for number in range(N_REPEATS)
        ]
    for verdict in verdicts:
        assert 0 <= verdict.conditions.neighbour_share <= 1
    return [verdict.timing.speedups["eager"] for verdict in verdicts]

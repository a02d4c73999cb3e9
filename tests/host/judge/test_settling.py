"""A module's memory has settled to the demands of rounds when they begin."""

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.sandbox.processes import faulted_bytes
from kernelwright.judge.timing.stopwatch import Stopwatch

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(768)

    def forward(self, x):
        return self.norm(x)


def get_inputs():
    return [torch.randn(16, 512, 768)]


def get_init_inputs():
    return []
"""
N_BYTES = 16 * 512 * 768 * 4


def test_eager_takes_new_memory_in_few_rounds_of_the_first_verdict(monkeypatch, fork_server):
    taken, usual = [], Stopwatch.window

    def window(self, runner, inputs, asked=(), *purpose):
        before = faulted_bytes(runner.child.pid)
        made = usual(self, runner, inputs, asked, *purpose)
        n_bytes = faulted_bytes(runner.child.pid) - before
        taken.append((runner, bool(asked), n_bytes / len(inputs)))
        return made

    with Judge(
        Task("norm", "builtin", SOURCE), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        monkeypatch.setattr(Stopwatch, "window", window)
        verdict = judge.evaluate(Candidate(f"{SOURCE}\nModelNew = Model\n", "torch"))
        eager = judge._baselines.kept()["eager"]
    assert verdict.passed, verdict.why
    in_rounds = [n for runner, take, n in taken if runner is eager and take]
    assert len(in_rounds) >= 6
    # Not none: where a heap has holes, now and then a result fits in none of them.
    assert sum(n > N_BYTES / 2 for n in in_rounds) < len(in_rounds) / 2

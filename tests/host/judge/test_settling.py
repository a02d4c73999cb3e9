"""What rounds ask of a module's memory beyond plain calls is behind it when they begin."""

from pathlib import Path

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.timing import Stopwatch

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
PAGES = 16 * 512 * 768 * 4 // 4096


def faults(pid: int) -> int:
    """Page faults of a process so far (man 5 proc_stat: minflt)."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[7])


def test_eager_takes_no_new_memory_in_the_rounds_of_the_first_verdict(monkeypatch, nursery):
    taken, usual = [], Stopwatch.turn

    def turn(self, runner, *arguments, take=False, **how):
        before = faults(runner.child.pid)
        call = usual(self, runner, *arguments, take=take, **how)
        taken.append((runner, take, faults(runner.child.pid) - before))
        return call

    with Judge(
        Task("norm", "builtin", SOURCE), settings=Settings(threads=1), nursery=nursery
    ) as judge:
        monkeypatch.setattr(Stopwatch, "turn", turn)
        verdict = judge.evaluate(Candidate(f"{SOURCE}\nModelNew = Model\n", "torch"))
        eager = judge._baselines.kept()["eager"]
    assert verdict.passed, verdict.reasons
    in_rounds = [n for runner, take, n in taken if runner is eager and take]
    assert len(in_rounds) >= 6
    assert sum(n > PAGES / 2 for n in in_rounds) <= 1

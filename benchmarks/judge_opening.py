"""The processor time of a judge's own process, beside that of another checkout.

Run ``python benchmarks/judge_opening.py OTHER/src [--rounds N]``. Each round opens a judge of both
checkouts in new processes, in turn, and judges one candidate three times without the clock. It
prints the seconds of processor time of both, and the median of their ratios.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
from pathlib import Path

OWN = Path(__file__).resolve().parents[1] / "src"
PROGRAM = '''
import resource
from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(256)

    def forward(self, x):
        return torch.relu(self.norm(x))


def get_inputs():
    return [torch.rand(64, 256)]


def get_init_inputs():
    return []
"""
candidate = Candidate(SOURCE.replace("Model(", "ModelNew("), "torch")
with Judge(Task("norm", "benchmark", SOURCE), settings=Settings(threads=1)) as judge:
    assert all(judge.evaluate(candidate, timed=False).passed for _ in range(3))
used = resource.getrusage(resource.RUSAGE_SELF)
print(used.ru_utime + used.ru_stime)
'''


def used_s(source: Path) -> float:
    """The processor time of one judge's process, in seconds."""
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    pairs = [(used_s(options.other), used_s(OWN)) for _ in range(options.rounds)]
    for theirs_s, ours_s in pairs:
        print(f"other {theirs_s:.2f} s, this {ours_s:.2f} s, ratio {theirs_s / ours_s:.2f}")
    ratios = [theirs_s / ours_s for theirs_s, ours_s in pairs]
    print(f"median ratio {statistics.median(ratios):.2f}")


if __name__ == "__main__":
    main()

"""The tuner on an NVIDIA GPU: Triton and CUDA candidates are tried, and a lost GPU context costs
the candidate that lost it."""

import itertools
import time
from pathlib import Path

import pytest
import torch

from kernelwright.core.candidate import Brief, Candidate, Proposal
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.trial import TrialOutcome
from kernelwright.dialects.devices import resolve
from kernelwright.judge import Judge
from kernelwright.loaders import load
from kernelwright.tuner.cost_model import CostModel
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.prior import machine
from kernelwright.tuner.process import process_for
from kernelwright.tuner.question import question_of
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.space import Space
from kernelwright.tuner.trials import TrialRunner
from kernelwright.tuner.tuner import Tuner

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="needs an NVIDIA GPU"),
]
EXAMPLE = Path(__file__).parents[2] / "examples" / "rms_gate.py"
LOST = """
import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(width))

    def forward(self, x, gate):
        return x[torch.full((1,), 1 << 40, device=x.device)] * gate
"""


@pytest.fixture(scope="module")
def judge():
    device = resolve(Device.parse("cuda"))
    with Judge(load(EXAMPLE), device=device, settings=Settings(device="cuda")) as opened:
        yield opened


@pytest.mark.parametrize("dialect", ["triton", "cuda"])
def test_candidates_are_tried(judge, dialect):
    brief, trials = Brief(judge.task, judge.device, (dialect,)), []
    with process_for(judge, (dialect,)) as process:
        process.give(question_of(judge))
        runner = TrialRunner(process, judge.device_lock)
        pool = Pool(Space(brief), CostModel(machine("cuda", 1)))
        queue = BuildQueue(process)
        tuner = Tuner(
            pool, runner, queue, batch_size=16, builds_ahead=True, on_trials=trials.extend
        )
        tuner.run(time.monotonic() + 20.0)
        best = tuner.finalists(1)
    measured = [trial for trial in trials if trial.outcome is TrialOutcome.MEASURED]
    assert len(measured) > 8
    assert {trial.outcome for trial in trials} <= {TrialOutcome.MEASURED, TrialOutcome.FAILED}
    assert judge.evaluate(best[0].candidate).passed


def test_a_lost_context_costs_the_candidate_that_lost_it(judge):
    space = Space(Brief(judge.task, judge.device, ("triton",)))
    first, second = itertools.islice(space.stream([]), 2)
    lost = Proposal(Candidate(LOST, "torch"), "rules", schedule={"kernels": {}})
    with process_for(judge, ("triton",)) as process:
        process.give(question_of(judge))
        trials = TrialRunner(process, judge.device_lock).measure([first, lost, second])
    assert [trial.outcome for trial in trials] == [
        TrialOutcome.MEASURED,
        TrialOutcome.CRASHED,
        TrialOutcome.MEASURED,
    ]


PLAIN = """
import time

import torch
from torch import nn

class ModelNew(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.randn(width)), eps

    def forward(self, x, gate):
        end_s = time.perf_counter() + {spent_s}
        while time.perf_counter() < end_s:
            pass
        h = x * nn.functional.silu(gate)
        return h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight
"""


def test_times_hold_the_gpus_work_and_not_what_python_does_before(judge):
    texts = [PLAIN.format(spent_s=spent_s) for spent_s in ("0.0", "1e-3")]
    batch = [Proposal(Candidate(text, "torch"), "rules") for text in texts]
    with process_for(judge, ("torch",)) as process:
        process.give(question_of(judge))
        quick, slow = TrialRunner(process, judge.device_lock).measure(batch)
    assert quick.outcome is slow.outcome is TrialOutcome.MEASURED, (quick.detail, slow.detail)
    assert slow.time_ns < 1.5 * quick.time_ns

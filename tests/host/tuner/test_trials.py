"""A candidate that crashes, hangs or errs costs itself, and the others of its race are measured."""

from dataclasses import replace

import psutil
import pytest

from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.core.trial import TrialOutcome
from kernelwright.judge import Judge
from kernelwright.loaders.training_step import as_judged, training_step
from kernelwright.tuner.process import PROGRAM, TunerProcess, process_for
from kernelwright.tuner.question import question_of, why_untunable
from kernelwright.tuner.trials import TrialRunner

TASK = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x):
        {forward}

def get_inputs():
    return [torch.randn(64, 128)]

def get_init_inputs():
    return [128]
"""
FORWARD = "return torch.relu(x) * self.scale"
KERNEL = """
import torch
from torch import nn
{before}
class ModelNew(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(width))

    def forward(self, x):
        {forward}
        return {result}
"""
RIGHT = "x.clamp(min=0) * self.scale"
BAD = {
    "crash": (TrialOutcome.CRASHED, {"forward": "import ctypes; ctypes.string_at(0)"}),
    "crash at import": (TrialOutcome.CRASHED, {"before": "import ctypes; ctypes.string_at(0)"}),
    "hang": (TrialOutcome.LATE, {"forward": "while True: pass"}),
    "wrong": (TrialOutcome.WRONG, {"result": "x * self.scale"}),
    "another shape": (TrialOutcome.WRONG, {"result": "x[:1] * self.scale"}),
    "error": (TrialOutcome.FAILED, {"forward": "raise RuntimeError('no kernel')"}),
    "no Python": (TrialOutcome.FAILED, {"before": "this is no Python"}),
    "reference": (
        TrialOutcome.FAILED,
        {"before": "", "result": f"{RIGHT}\n    def why_not(self, x):\n        return 'a form'"},
    ),
}


def task(forward=FORWARD):
    return Task("scaled", "kernelbench", TASK.format(forward=forward))


def proposal(**parts):
    text = KERNEL.format(**{"before": "", "forward": "pass", "result": RIGHT} | parts)
    return Proposal(Candidate(text, "torch"), "rules", schedule={"kernels": {}})


@pytest.fixture(scope="module")
def runner(fork_server):
    with Judge(task(), settings=Settings(), fork_server=fork_server) as judge:
        question = question_of(judge)
        with TunerProcess({}, threads=judge.threads, step_limit_s=5.0) as process:
            process.give(question)
            yield TrialRunner(process, judge.device_lock)


@pytest.mark.parametrize("name", BAD)
def test_a_bad_candidate_costs_itself(runner, name):
    outcome, parts = BAD[name]
    batch = [proposal(before="# first"), proposal(**parts), proposal(before="# last")]
    trials = runner.measure(batch)
    assert [t.outcome for t in trials] == [TrialOutcome.MEASURED, outcome, TrialOutcome.MEASURED]
    assert trials[1].detail and trials[1].time_ns is None
    assert all(t.time_ns and t.speedup for t in (trials[0], trials[2]))


def programs():
    """The tuner's programs that this process has started."""
    return [child.pid for child in psutil.Process().children() if PROGRAM in child.cmdline()]


def test_a_suite_forks_its_tuners_from_a_server_that_has_imported_torch(fork_server):
    before = programs()
    with (
        Judge(task(), settings=Settings(), fork_server=fork_server) as judge,
        process_for(judge, ("torch",), fork_server) as process,
    ):
        process.give(question_of(judge))
        runner = TrialRunner(process, judge.device_lock)
        trials = runner.measure([proposal(**BAD["crash"][1]), proposal(before="# right")])
        assert programs() == before
    assert [t.outcome for t in trials] == [TrialOutcome.CRASHED, TrialOutcome.MEASURED]


@pytest.mark.parametrize("forward", ["x.relu_(); return x * self.scale"])
def test_a_reference_that_writes_to_its_arguments_is_not_tried(forward, fork_server):
    with Judge(task(forward), settings=Settings(), fork_server=fork_server) as judge:
        assert why_untunable(judge) == "the reference writes to its arguments"


def test_training_steps_are_tried(fork_server):
    step = training_step(task())
    wrong = {"result": f"({RIGHT}) + (x.detach() - x)"}  # right results, wrong gradients
    batch = [proposal(), proposal(**wrong)]
    batch = [replace(one, candidate=as_judged(one.candidate, step)) for one in batch]
    with Judge(step, settings=Settings(), fork_server=fork_server) as judge:
        assert not why_untunable(judge)
        with TunerProcess({}, threads=judge.threads, step_limit_s=5.0) as process:
            process.give(question_of(judge))
            trials = TrialRunner(process, judge.device_lock).measure(batch)
    assert [t.outcome for t in trials] == [TrialOutcome.MEASURED, TrialOutcome.WRONG]


def test_a_choice_that_the_last_digits_decide_is_measured(fork_server):
    chosen = task("return torch.topk(x, 8)[1]")
    inputs = "x = torch.randn(64, 128)\n    x[0, 0], x[0, 1] = 9.0, 9.000001\n    return [x]"
    source = chosen.source.replace("return [torch.randn(64, 128)]", inputs)
    tied = replace(chosen, source=source)
    flipped = "i = torch.topk(x, 8)[1]\n        i[{row}, :2] = i[{row}, :2].flip(0)"
    batch = [proposal(forward=flipped.format(row=row), result="i") for row in (0, 1)]
    with (
        Judge(tied, settings=Settings(), fork_server=fork_server) as judge,
        TunerProcess({}, threads=judge.threads, step_limit_s=5.0) as process,
    ):
        process.give(question_of(judge))
        trials = TrialRunner(process, judge.device_lock).measure(batch)
    assert [t.outcome for t in trials] == [TrialOutcome.MEASURED, TrialOutcome.WRONG]

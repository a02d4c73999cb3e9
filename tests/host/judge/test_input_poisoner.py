"""Where a child copies its outputs itself, as on a GPU, its answer ends its inputs."""

import pytest
import torch

from kernelwright.core.candidate import Candidate
from kernelwright.core.evaluation import CANDIDATE
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.judge import Judge
from kernelwright.judge.devices import input_poisoner
from kernelwright.judge.devices.backend import CpuBackend
from kernelwright.judge.devices.input_poisoner import InputPoisoner
from kernelwright.testing.zoo import cases

CHEATS = [
    case
    for case in cases(device="cpu")
    if case.name in ("early_bell_short", "works_while_describing")
]


@pytest.fixture(scope="module")
def judge(fork_server):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(CpuBackend, "reads_from_outside", False)
        task, settings = CHEATS[0].load_task(), Settings(threads=1)
        with Judge(task, settings=settings, fork_server=fork_server) as one:
            yield one


@pytest.mark.parametrize("cheat", CHEATS, ids=lambda case: case.name)
def test_work_after_the_completion_signal_finds_no_inputs(cheat, judge):
    evaluation = judge.evaluate(cheat.candidate, timed=False)
    assert evaluation.status is Status.WRONG_VALUES, evaluation.why


def test_an_honest_kernel_passes_and_is_seen_not_to_write_to_its_inputs(judge):
    source = f"{judge.task.source}\nModelNew = {judge.task.entry}\n"
    evaluation = judge.evaluate(Candidate(source, "torch"), timed=False)
    assert evaluation.passed, evaluation.why


def test_a_candidate_that_writes_to_its_inputs_is_seen_all_the_same(judge):
    source = f"{judge.task.source}\n\nclass ModelNew({judge.task.entry}):\n" + (
        "    def forward(self, x):\n"
        "        y = super().forward(x)\n"
        "        x.view(-1)[7] += 1\n"
        "        return y\n"
    )
    evaluation = judge.evaluate(Candidate(source, "torch"), timed=False)
    assert evaluation.status is Status.REJECTED and "writes to its inputs" in evaluation.why


def test_work_at_the_end_of_an_output_is_in_the_next_calls_time(judge):
    source = (
        f"import time, weakref\n{judge.task.source}\n\nclass ModelNew({judge.task.entry}):\n"
        "    def forward(self, x):\n"
        "        y = super().forward(x)\n"
        "        weakref.finalize(y, time.sleep, 0.02)\n"
        "        return y\n"
    )
    evaluation = judge.evaluate(Candidate(source, "torch"))
    assert evaluation.passed, evaluation.why
    # Not of every call: an output that is held ends later.
    assert evaluation.timing.median_ns(CANDIDATE) > 20e6
    assert evaluation.kinds  # its profiler tells them, since nobody reads its stack


def test_inputs_are_overwritten_in_a_window_and_come_back(monkeypatch):
    monkeypatch.setattr(input_poisoner, "WINDOW_BYTES", 100)
    inputs = torch.arange(250, dtype=torch.uint8)
    before = inputs.clone()
    with InputPoisoner(inputs) as one:
        one()
        assert int((inputs == input_poisoner.POISON).sum()) == 100
    assert torch.equal(inputs, before)

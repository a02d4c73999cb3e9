"""Rounds on a device that does background work while the candidate stands still: a CPU says so."""

import itertools

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, pipeline
from kernelwright.judge.devices.backend import CpuBackend
from kernelwright.judge.timing import background_work, stopping_rule
from kernelwright.judge.timing.background_work import FEWEST, BackgroundWorkDetector

SOURCE = """
import torch
from torch import nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x)


def get_inputs():
    return [torch.randn(64, 64)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def judge(fork_server):
    task = Task("relu", "builtin", SOURCE)
    with Judge(task, settings=Settings(threads=1), fork_server=fork_server) as judge:
        yield judge


@pytest.fixture
def busy(monkeypatch):
    """Have the device be busy when a function of whether inputs are being written says so."""

    def set_busy(is_busy):
        def works_for_others(self, meanwhile=None):
            if meanwhile is not None:
                meanwhile()
            return is_busy(meanwhile is not None)

        monkeypatch.setattr(CpuBackend, "works_for_others", works_for_others)
        monkeypatch.setattr(BackgroundWorkDetector, "is_due", lambda self: self.n_watched < FEWEST)
        monkeypatch.setattr(stopping_rule, "MAX_ROUNDS", stopping_rule.MIN_ROUNDS)

    return set_busy


def candidate(number):
    return Candidate(f"{SOURCE}\nModelNew = Model  # {number}\n", "torch")


def test_a_device_at_rest_changes_nothing(judge, busy):
    busy(lambda is_written: False)
    verdict = judge.evaluate(candidate(1))
    assert verdict.passed and not any("works for" in w.detail for w in verdict.warnings)


def test_a_candidate_whose_work_is_done_when_the_inputs_come_is_refused(judge, busy):
    busy(lambda is_written: is_written)
    verdict = judge.evaluate(candidate(2))
    assert verdict.status is Status.TAMPERED and "from then on" in verdict.why


def test_where_the_library_is_slowed_down_there_is_no_verdict(judge, busy, monkeypatch):
    monkeypatch.setattr(background_work, "SLOWER", 0.0)
    monkeypatch.setattr(pipeline, "MOST_DISTURBED", 0)  # see below
    busy(lambda is_written: True)
    verdict = judge.evaluate(candidate(3))
    assert verdict.status is Status.INFRA_ERROR and "works for another" in verdict.why


def test_a_candidate_that_was_disturbed_for_a_moment_is_timed_again(judge, busy, monkeypatch):
    monkeypatch.setattr(background_work, "SLOWER", 0.0)
    looks = itertools.count()
    busy(lambda is_written: next(looks) < 3 * FEWEST)
    verdict = judge.evaluate(candidate(4))
    assert verdict.passed, verdict.why
    assert any("works for somebody" in warning.detail for warning in verdict.warnings)

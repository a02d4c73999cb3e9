"""A library setting that compiles anew for other inputs costs no candidate its verdict."""

import pytest

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import ReasonCode
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge, pipeline
from kernelwright.judge.baselines import library_settings
from kernelwright.judge.refusal import Refused
from kernelwright.judge.timing.stopwatch import RunnerFailed

SOURCE = """
import torch

TABLE = list(range(10_000))


class Model(torch.nn.Module):
    def forward(self, x):
        number = int(x.argmax())
        return x * {factor}


def get_inputs():
    return [torch.randn(100, 100)]


def get_init_inputs():
    return []
"""
EVERY, ONCE, NEVER = "(2 + TABLE[number])", "(2 + number)", "2"
"""A constant each time; at first, and then a variable; none of the inputs' own."""


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Two settings, of which one traces and leaves out the slow part: C++."""
    rows = (
        library_settings.Setting("eager", "what users run"),
        library_settings.Setting("compile", "traced", compile={"backend": "eager"}),
    )
    monkeypatch.setitem(library_settings.SETTINGS, "cpu", rows)


@pytest.fixture
def stuck(monkeypatch):
    """Let compile give no answer in time when it is first timed beside a candidate."""
    compare, failed = pipeline.compare, []

    def fail_first(stopwatch, contest, *arguments, **options):
        if not failed:
            failed.append(contest)
            why = Refused(ReasonCode.NO_ANSWER, "no answer within 10 s (run)")
            raise RunnerFailed("compile", why)
        return compare(stopwatch, contest, *arguments, **options)

    monkeypatch.setattr(pipeline, "compare", fail_first)
    return failed


def judged(factor, fork_server):
    source = SOURCE.format(factor=factor)
    candidate = Candidate(f"{source}\nModelNew = Model\n", "torch")
    with Judge(
        Task("numbers", "builtin", source), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        return judge.evaluate(candidate)


def without_compile(found):
    said = [w for w in found.warnings if "compile was not measured: it compiles anew" in w.detail]
    return found.passed and len(said) == 1 and "compile" not in found.timing.samples_ns


def test_one_that_compiles_for_every_input_is_done_without(fork_server):
    assert without_compile(judged(EVERY, fork_server))


def test_one_that_is_done_after_a_second_input_is_measured(fork_server):
    found = judged(ONCE, fork_server)
    assert found.passed and "compile" in found.timing.samples_ns


def test_one_that_was_seen_to_compile_anew_and_is_late_is_done_without(stuck, fork_server):
    assert without_compile(judged(ONCE, fork_server))


def test_one_that_is_late_and_compiles_nothing_was_held_up_and_is_tried_again(stuck, fork_server):
    found = judged(NEVER, fork_server)
    assert stuck and found.passed and "compile" in found.timing.samples_ns

"""Library settings that change nothing of their process share one; candidates never do."""

import pytest
from tests.host.relu_task import TASK as SOURCE

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines import library_settings
from kernelwright.judge.baselines.library_settings import Setting, settings_of

TASK = Task("relu", "builtin", SOURCE)
CANDIDATE = Candidate(SOURCE + "\nModelNew = Model\n", "torch")
TRACED = Setting("compile", "traced, without C++", compile={"backend": "eager"}, process="eager")
TWICE = Setting("twice", "eager mode once more", process="eager")
BROKEN = Setting("broken", "compiled by nobody", compile={"backend": "none"}, process="eager")


@pytest.fixture
def more():
    return ()


@pytest.fixture
def judge(monkeypatch, fork_server, more):
    rows = (Setting("eager", "what users run", process="eager"), TRACED, *more, TWICE)
    monkeypatch.setitem(library_settings.SETTINGS, "cpu", rows)
    with Judge(TASK, settings=Settings(threads=1), fork_server=fork_server) as judge:
        yield judge


def test_all_are_measured_in_one_process(judge):
    (found,) = judge.evaluate_all([CANDIDATE])
    assert found.status is Status.PASSED, found.why
    assert set(judge.baseline_ns) == {"eager", "compile", "twice"}
    assert {"eager", "compile"} <= set(found.timing.samples_ns)
    assert len({runner.child.pid for runner in judge._baselines.kept().values()}) == 1


@pytest.mark.parametrize("more", [(BROKEN,)])
def test_one_that_does_not_start_costs_the_others_nothing(judge):
    found = judge.evaluate(CANDIDATE)
    assert found.status is Status.PASSED, found.why
    assert set(judge.baseline_ns) == {"eager", "compile", "twice"}
    assert "none" in judge.dropped["broken"]


def test_all_that_a_killed_process_held_are_tried_again_each_in_one_of_its_own(judge):
    assert judge.evaluate(CANDIDATE).status is Status.PASSED
    judge._baselines.fastest().child.kill()
    found = judge.evaluate(CANDIDATE)
    assert found.status is Status.PASSED, found.why
    kept = judge._baselines.kept()
    assert {"eager", "compile"} <= set(found.timing.samples_ns)
    assert len({runner.child.pid for runner in kept.values()}) == len(kept)


@pytest.mark.parametrize(
    "more", [(Setting("one", "dies", process="other"), Setting("two", "lives", process="other"))]
)
def test_one_that_fails_when_it_is_timed_costs_the_others_nothing(judge):
    judge.start_baselines()
    judge._baselines.wait()
    judge._baselines.kept()["one"].child.kill()
    assert judge.strongest
    assert set(judge.baseline_ns) | set(judge.dropped) == {
        "eager",
        "compile",
        "twice",
        "one",
        "two",
    }
    assert len(judge.dropped) == 1 and set(judge.dropped) <= {"one", "two"}


def test_weights_held_in_a_precision_are_apart_from_others():
    shared = {row.process for row in settings_of("cuda", "bf16") if row.is_held}
    assert shared and not shared & {row.process for row in settings_of("cuda", "")}

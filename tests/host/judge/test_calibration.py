"""A calibration that fails costs one verdict at most, not all that come after it."""

from tests.host.relu_task import RIGHT, TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import ReasonCode, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.baselines import library_settings
from kernelwright.judge.refusal import Refused
from kernelwright.judge.timing.stopwatch import Stopwatch


def test_the_next_verdict_calibrates_anew(monkeypatch, fork_server):
    calibrate, failures = Stopwatch.calibrate, [Refused(ReasonCode.NO_ANSWER, "no answer")] * 3

    def fails_at_first(stopwatch, runner):
        if failures:
            raise failures.pop()
        calibrate(stopwatch, runner)

    monkeypatch.setattr(Stopwatch, "calibrate", fails_at_first)
    monkeypatch.setitem(library_settings.SETTINGS, "cpu", library_settings.SETTINGS["cpu"][:1])
    candidate = Candidate(RIGHT, "torch")
    with Judge(
        Task("relu", "builtin", TASK), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        first, second = judge.evaluate(candidate), judge.evaluate(candidate)
    assert first.status is Status.INFRA_ERROR
    assert "does nothing" in first.why
    assert second.passed, second.why  # at its second try, as every verdict has that fails so

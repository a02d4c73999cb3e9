"""The built-in suite's own candidates: every right one passes, every wrong one is refused."""

import pytest
from benchmarks.suite_controls import control

from kernelwright.api import read_candidate
from kernelwright.core.outcome import Status
from kernelwright.dialects.cpp import CppDialect
from kernelwright.dialects.library import TorchDialect
from kernelwright.judge import Judge
from kernelwright.suites.suite import builtin_suite


@pytest.fixture(autouse=True)
def untimed(monkeypatch):
    """Verdicts on correctness alone: baselines are neither built nor timed."""
    for dialect in (TorchDialect, CppDialect):
        monkeypatch.setattr(dialect, "is_timed", lambda self, device: False)


@pytest.mark.parametrize("entry", builtin_suite(size="small"), ids=lambda entry: entry.name)
def test_right_passes_and_wrong_is_refused(entry, fork_server):
    with Judge(entry.task, fork_server=fork_server) as judge:
        right = judge.evaluate(read_candidate(control(entry.name, "right")))
        wrong = judge.evaluate(read_candidate(control(entry.name, "wrong")))
    assert right.passed, right.why
    assert wrong.status is Status.WRONG_VALUES, wrong.why

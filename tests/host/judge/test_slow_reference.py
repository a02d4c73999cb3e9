"""A reference that takes long leaves distributions out, and the verdict says which."""

from tests.host.relu_task import TASK

from kernelwright.core.candidate import Candidate
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.judge import Judge
from kernelwright.judge.verify import run_checks


def test_a_warning_names_the_checks_that_a_slow_reference_leaves_no_time_for(
    monkeypatch, fork_server
):
    monkeypatch.setattr(run_checks, "ORACLE_BUDGET_S", 0.0)
    with Judge(
        Task("relu", "builtin", TASK), settings=Settings(threads=1), fork_server=fork_server
    ) as judge:
        for number in range(2):
            text = f"{TASK}\nModelNew = Model  # {number}\n"
            verdict = judge.evaluate(Candidate(text, "torch"), timed=False)
            (said,) = [one.detail for one in verdict.warnings if "slow" in one.detail]
            assert verdict.passed and said.endswith("special inputs")
            assert "special" not in verdict.numerics.distributions

"""What models write gets no verdict only if it is admitted, right, and clearly slower than the best
trial."""

import pytest
from tests.host.tuner.test_trials import RIGHT, proposal, task

from kernelwright.core import schedule_line
from kernelwright.core.settings import Settings
from kernelwright.core.trial import TrialOutcome
from kernelwright.judge import Judge
from kernelwright.tuner.admitted import N_SCHEDULES, AdmittedTrials, TriedAnswer
from kernelwright.tuner.process import TunerProcess

WASTE = "for number in range(400):\n            torch.relu(x)"


@pytest.fixture(scope="module")
def admitted(fork_server):
    with (
        Judge(task(), settings=Settings(), fork_server=fork_server) as judge,
        TunerProcess({}, threads=judge.threads, step_limit_s=5.0) as process,
    ):
        trials = AdmittedTrials(judge, process)
        assert trials.tried(proposal()).best == proposal()
        yield trials


def test_only_what_is_right_and_slower_gets_no_verdict(admitted):
    found = admitted.tried(proposal(forward=WASTE))
    assert found.best is None and found.trials[0].time_ns
    wrong = proposal(forward=WASTE, result=f"({RIGHT}) + 1")
    assert admitted.tried(wrong).best == wrong


def test_a_program_with_a_schedule_line_is_judged_under_its_fastest_schedule(admitted):
    waste = "for number in range(STAGES * WARPS // 4):\n            torch.relu(x)"
    slow = proposal(before="STAGES, WARPS = 5, 16", forward=waste)
    found = admitted.tried(slow)
    assert len(found.trials) == N_SCHEDULES
    assert {trial.outcome for trial in found.trials} == {TrialOutcome.MEASURED}
    best = schedule_line.read(found.best.candidate.source)
    assert best["STAGES"] * best["WARPS"] < 20
    assert found.best.schedule == {"line": best, "of": slow.candidate.digest}


def test_what_the_grammar_refuses_is_never_run(admitted, tmp_path):
    path = tmp_path / "written"
    text = f"open({str(path)!r}, 'w')"
    refused = proposal(before=text, forward=WASTE)
    assert admitted.tried(refused) == TriedAnswer(refused)
    assert not path.exists()

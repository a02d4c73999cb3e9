"""What models write gets no verdict only if it is admitted, right, and clearly slower than the best
trial."""

import pytest
from tests.host.tuner.test_trials import RIGHT, proposal, task

from kernelwright.core.settings import Settings
from kernelwright.judge import Judge
from kernelwright.tuner.admitted import AdmittedTrials
from kernelwright.tuner.process import TunerProcess

WASTE = "for number in range(400):\n            torch.relu(x)"


@pytest.fixture(scope="module")
def admitted(fork_server):
    with (
        Judge(task(), settings=Settings(), fork_server=fork_server) as judge,
        TunerProcess({}, threads=judge.threads, step_limit_s=5.0) as process,
    ):
        trials = AdmittedTrials(judge, process)
        assert trials.slower(proposal()) is None
        yield trials


def test_only_what_is_right_and_slower_gets_no_verdict(admitted):
    trial = admitted.slower(proposal(forward=WASTE))
    assert trial is not None and trial.time_ns
    assert admitted.slower(proposal(forward=WASTE, result=f"({RIGHT}) + 1")) is None


def test_what_the_grammar_refuses_is_never_run(admitted, tmp_path):
    path = tmp_path / "written"
    text = f"open({str(path)!r}, 'w')"
    assert admitted.slower(proposal(before=text, forward=WASTE)) is None
    assert not path.exists()

"""A trial as what prompts and rewards read of a verdict."""

import pytest
from tests.null.archive.nouns import TASK

from kernelwright.core.evaluation import Environment
from kernelwright.core.outcome import Status
from kernelwright.core.trial import NO_JUDGE, Trial, TrialOutcome

HERE = Environment("cuda:sm_90", {"gpu": "a GPU"})


def test_a_measured_trial_has_a_speedup_over_eager_with_the_interval_of_its_time():
    trial = Trial("c", "triton", TrialOutcome.MEASURED, time_ns=1000.0, reference_ns=2000.0,
                  low_ns=800.0, high_ns=1250.0)  # fmt: skip
    found = trial.as_evaluation(TASK, HERE)
    assert found.passed and found.is_own and found.judge_version == NO_JUDGE
    assert found.timing.strongest == "eager"
    assert found.speedup.median == 2.0
    assert (found.speedup.low, found.speedup.high) == (1.6, 2.5)
    assert (found.task, found.candidate, found.environment) == (TASK.digest, "c", HERE)


@pytest.mark.parametrize(
    ("outcome", "status"),
    [
        (TrialOutcome.WRONG, Status.WRONG_VALUES),
        (TrialOutcome.FAILED, Status.RUNTIME_ERROR),
        (TrialOutcome.CRASHED, Status.RUNTIME_ERROR),
        (TrialOutcome.LATE, Status.TIMEOUT),
    ],
)
def test_a_trial_that_measured_nothing_says_what_went_wrong(outcome, status):
    found = Trial("c", "triton", outcome, detail="element 3 is off").as_evaluation(TASK, HERE)
    assert (found.status, found.why, found.timing) == (status, "element 3 is off", None)

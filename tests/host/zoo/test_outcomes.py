"""Outcomes: when a verdict is an escape, and when a false accusation."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.core.evaluation import Environment, Evaluation, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Status, Warned, WarningCode
from kernelwright.testing.zoo import Case, Result
from kernelwright.testing.zoo.outcomes import weigh

CHEAT = Case(
    Path("zoo/pointwise/chain/cheats/cheat.py"),
    expect=(Status.WRONG_VALUES, Status.PASSED),
    max_speedup=1.2,
    never_counts_as=("kernel",),
    warns=(WarningCode.DEGENERATE_TASK,),
)
HONEST = Case(Path("zoo/pointwise/chain/honest/honest.py"))


def evaluation(status: Status, *, speedup: float = 1.0, **changes) -> Evaluation:
    """A verdict; a passing one is timed, with ``speedup`` over eager in every round."""
    passed = status is Status.PASSED
    samples = {"candidate": (1000,) * 9, "eager": (int(1000 * speedup),) * 9}
    timing = Timing(samples, strongest="eager", clock="parent", cache="cold")
    values = {
        "task": "t",
        "workload": "w",
        "candidate": "c",
        "status": status,
        "reasons": () if passed else (Reason(ReasonCode.UNCLASSIFIED, "because"),),
        "environment": Environment("cpu", {}),
        "seed": 0,
        "judge_version": 1,
        "timing": timing if passed else None,
        "warnings": (Warned(WarningCode.DEGENERATE_TASK, "output 0 is constant"),),
    }
    return Evaluation(**(values | changes))


@pytest.mark.parametrize(
    ("case", "verdict", "alarms", "result"),
    [
        (CHEAT, evaluation(Status.WRONG_VALUES), [], Result.HELD),
        (CHEAT, evaluation(Status.PASSED), [], Result.HELD),
        (CHEAT, evaluation(Status.RUNTIME_ERROR), [], Result.OTHER_STATUS),
        (CHEAT, evaluation(Status.INFRA_ERROR), [], Result.ESCAPE),
        (CHEAT, evaluation(Status.PASSED, speedup=1.5), [], Result.ESCAPE),
        (CHEAT, evaluation(Status.PASSED, kinds=("kernel",)), [], Result.ESCAPE),
        (CHEAT, evaluation(Status.PASSED, warnings=()), [], Result.ESCAPE),
        (CHEAT, evaluation(Status.WRONG_VALUES), ["it wrote a file"], Result.ESCAPE),
        (HONEST, evaluation(Status.PASSED, speedup=9.0), [], Result.HELD),
        (HONEST, evaluation(Status.WRONG_VALUES), [], Result.FALSE_ACCUSATION),
        (HONEST, evaluation(Status.INFRA_ERROR), [], Result.FALSE_ACCUSATION),
    ],
)
def test_weighing(case: Case, verdict: Evaluation, alarms: list[str], result: Result) -> None:
    assert weigh(case, verdict, alarms)[0] is result


def test_a_kernel_that_is_not_recognised_is_a_false_accusation() -> None:
    case = replace(HONEST, counts_as=("kernel",))
    assert weigh(case, evaluation(Status.PASSED), [])[0] is Result.FALSE_ACCUSATION
    assert weigh(case, evaluation(Status.PASSED, timing=None), [])[0] is Result.HELD


def test_a_cheat_that_needs_the_clock_is_no_escape_of_a_run_without_it() -> None:
    passed = evaluation(Status.PASSED, timing=None)
    case = replace(CHEAT, expect=(Status.WRONG_VALUES,), needs_clock=True)
    assert weigh(case, passed, [], timed=False)[0] is Result.NEEDS_CLOCK
    assert weigh(case, passed, ["it wrote a file"], timed=False)[0] is Result.ESCAPE
    assert weigh(case, passed, [], timed=True)[0] is Result.ESCAPE

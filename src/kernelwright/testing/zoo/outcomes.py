"""Outcomes: whether a verdict is the one that was owed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from kernelwright.core.evaluation import Evaluation
from kernelwright.core.outcome import Status
from kernelwright.testing.zoo.cases import Case


class Result(StrEnum):
    """What a verdict on a case means."""

    HELD = "held"
    ESCAPE = "escape"
    """A cheat got more than it deserves, or did harm."""
    FALSE_ACCUSATION = "false accusation"
    """An honest candidate was refused, or not told for what it is."""
    OTHER_STATUS = "other status"
    """A cheat was refused, with a status that does not name what it did."""
    NEEDS_CLOCK = "needs the clock"
    """A cheat that only the clock tells passed, and was not timed."""


@dataclass(frozen=True)
class Outcome:
    """The verdict on one case, and what it means."""

    case: Case
    result: Result
    why: str
    """Empty where the verdict held for the expected reason."""
    evaluation: Evaluation | None
    """None where the judge failed to give one."""
    seconds: float

    @property
    def is_failure(self) -> bool:
        return self.result in (Result.ESCAPE, Result.FALSE_ACCUSATION)


def weigh(
    case: Case, evaluation: Evaluation, alarms: list[str], *, timed: bool = True
) -> tuple[Result, str]:
    """Whether ``evaluation`` is what ``case`` is owed, and why not.

    ``alarms`` says what harm was done; ``timed``, whether the verdict was asked for with the clock.
    """
    wrong = Result.ESCAPE if case.is_cheat else Result.FALSE_ACCUSATION
    if alarms:
        return wrong, "; ".join(alarms)
    if case.needs_clock and evaluation.passed and not timed:
        return Result.NEEDS_CLOCK, "it was not timed"
    reasons = evaluation.why
    if evaluation.status not in case.expect:
        if evaluation.status is Status.INFRA_ERROR:
            return wrong, f"the machine was blamed: {reasons}"
        if case.is_cheat and not evaluation.passed:
            return Result.OTHER_STATUS, f"{evaluation.status}: {reasons}"
        return wrong, reasons or "it passed"
    if not evaluation.passed:
        return Result.HELD, ""
    complaint = _complaint(case, evaluation)
    return (wrong, complaint) if complaint else (Result.HELD, "")


def _complaint(case: Case, evaluation: Evaluation) -> str:
    """What is wrong with a passing verdict; empty if nothing is."""
    speedup = evaluation.speedup
    if case.max_speedup is not None and speedup is not None and speedup.low > case.max_speedup:
        return f"speedup {speedup.median:.2f}, deserved is below {case.max_speedup}"
    undeserved = set(case.never_counts_as) & set(evaluation.kinds)
    if undeserved:
        return f"it counts as {', '.join(undeserved)}"
    lacking = set(case.counts_as) - set(evaluation.kinds)
    if lacking and evaluation.timing is not None:
        return f"it does not count as {', '.join(lacking)}"
    if case.warns and not {one.code for one in evaluation.warnings} & set(case.warns):
        return f"no warning of {' or '.join(case.warns)}"
    return ""

"""Trial: what the tuner measured of one candidate. It is never a verdict."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from typing import Any

from kernelwright.core.codec import plain
from kernelwright.core.digest import digest
from kernelwright.core.evaluation import CANDIDATE, Environment, Evaluation, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.task import Task

EAGER = "eager"
"""The name that a trial's reference has among baselines."""
NO_JUDGE = 0
"""The judge's version where no judge has looked at a candidate."""


class TrialOutcome(StrEnum):
    """How a trial ended."""

    MEASURED = "measured"
    """It gave the right results on the task's inputs, and was timed."""
    WRONG = "wrong"
    """Its results were not the reference's."""
    FAILED = "failed"
    """It was not built, raised an error, or left the work to the reference's own forward."""
    CRASHED = "crashed"
    """The process that ran it ended."""
    LATE = "late"
    """It took too long and was killed."""


_CODES = {
    TrialOutcome.WRONG: ReasonCode.OUTPUT_VALUES,
    TrialOutcome.FAILED: ReasonCode.RAISED,
    TrialOutcome.CRASHED: ReasonCode.EXITED,
    TrialOutcome.LATE: ReasonCode.NO_ANSWER,
}


@dataclass(frozen=True)
class StepOutline:
    """One step of a program as a cost model sees it: what it does, whatever its schedule."""

    name: str
    """The step's name in schedules; empty for a call of the library."""
    kind: str
    """'nest', 'product', 'convolution', 'recurrence', 'attention' or 'library'."""
    form: Mapping[str, int]
    """How often it has each operator and dtype, and the words for the form of its loops; no sizes.
    """
    sizes: Mapping[str, float]
    """'bytes' that it reads and writes at least, 'flops', and the numbers of rows, columns, …"""


@dataclass(frozen=True)
class Outline:
    """The steps of an emitted program, in order."""

    steps: tuple[StepOutline, ...]

    @cached_property
    def digest(self) -> str:
        """Identity: all that it says of its steps."""
        return digest("outline", json.dumps(plain(self), sort_keys=True))


@dataclass(frozen=True)
class Trial:
    """One candidate as the tuner measured it on the task's inputs.

    Its text is not kept. Of one that our own emitters wrote the schedule gives it again, as long as
    the emitters are the same; of one under another schedule line the schedule names the text.
    """

    candidate: str
    """The candidate's digest."""
    dialect: str
    outcome: TrialOutcome
    schedule: Mapping[str, Any] = field(default_factory=dict)
    """The schedule of its proposal; JSON values."""
    detail: str = ""
    """What went wrong, in words."""
    time_ns: float | None = None
    """Time of a call in nanoseconds, the lower quartile by the tuner's clock; None if it was not
    timed. The times of one search compare with each other: each is measured beside the best of
    before, and scaled by it."""
    reference_ns: float | None = None
    """The same of the reference in eager mode."""
    n_samples: int = 0
    """Number of timed calls."""
    expected_ns: float | None = None
    """The same as the order of the search expected it before any trial of the task; None in trials
    of before it was kept."""
    outline: Outline | None = None
    """The steps of the program that was emitted; None in trials of before it was kept, and where a
    model wrote it."""
    low_ns: float | None = None
    """With ``high_ns`` the interval of ``time_ns``; None in trials of before it was kept."""
    high_ns: float | None = None

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the reference in eager mode it was; None if not timed."""
        if not self.time_ns or not self.reference_ns:
            return None
        return self.reference_ns / self.time_ns

    def as_evaluation(self, task: Task, environment: Environment) -> Evaluation:
        """Return what a prompt or a reward reads of a verdict, from this trial: it is none, and
        goes into no archive. The one baseline is the reference in eager mode; the interval of the
        speedup is that of the candidate's time."""
        timing: Timing | None = None
        reasons: tuple[Reason, ...] = ()
        if self.time_ns and self.reference_ns:
            times = (self.low_ns or self.time_ns, self.time_ns, self.high_ns or self.time_ns)
            mine, other = tuple(map(round, times)), (round(self.reference_ns),) * len(times)
            timing = Timing({CANDIDATE: mine, EAGER: other}, EAGER, "tuner", "cold")
        if self.outcome is not TrialOutcome.MEASURED:
            reasons = (Reason(_CODES[self.outcome], self.detail or self.outcome.value),)
        status = reasons[0].code.status if reasons else Status.PASSED
        assert status is not None  # the codes of trials belong to one status each
        return Evaluation(
            task=task.digest,
            workload="",
            candidate=self.candidate,
            status=status,
            reasons=reasons,
            environment=environment,
            seed=0,
            judge_version=NO_JUDGE,
            kinds=() if reasons else ("kernel",),
            timing=timing,
        )

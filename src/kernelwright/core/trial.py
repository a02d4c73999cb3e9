"""Trial: what the tuner measured of one candidate. It is never a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


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


@dataclass(frozen=True)
class Trial:
    """One candidate that our own emitters wrote, as the tuner measured it on the task's inputs.

    Its text is not kept: the schedule gives it again as long as the emitters are the same.
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

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the reference in eager mode it was; None if not timed."""
        if not self.time_ns or not self.reference_ns:
            return None
        return self.reference_ns / self.time_ns

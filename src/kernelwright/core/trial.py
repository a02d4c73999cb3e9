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
    expected_ns: float | None = None
    """The same as the order of the search expected it before any trial of the task; None in trials
    of before it was kept."""
    outline: Outline | None = None
    """The steps of the program that was emitted; None in trials of before it was kept."""

    @property
    def speedup(self) -> float | None:
        """How many times as fast as the reference in eager mode it was; None if not timed."""
        if not self.time_ns or not self.reference_ns:
            return None
        return self.reference_ns / self.time_ns

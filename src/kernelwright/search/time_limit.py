"""The time after which a search is stopped from outside, and the part of it that a verdict needs.

Whoever stops searches that take too long, as `kernelwright bench --limit` does, says so before. A
search that is stopped without a verdict has found nothing, however fast its candidates were when
they were tried.
"""

from __future__ import annotations

import math
import time

from kernelwright.core.evaluation import Evaluation

FIRST_SHARE = 0.5
"""Share of the limit that is kept for the first verdict. It waits for the library's compiler, which
took most of two minutes for networks of some fifty layers on a busy machine."""
SLACK = 1.5
"""Factor from what the costliest verdict has cost to what is kept for the next one, which may have
to wait for other searches."""


class TimeLimit:
    """The time that is left to a search before it is stopped."""

    def __init__(self, limit_s: float = math.inf) -> None:
        """``limit_s``: the search is stopped so many seconds from now."""
        self._end_s = time.monotonic() + limit_s
        self._first_s = FIRST_SHARE * limit_s if limit_s < math.inf else 0.0
        self._costliest_s = 0.0

    def note(self, verdict: Evaluation) -> None:
        """Note what a verdict has cost. One that was not timed says nothing about later ones."""
        if verdict.timing is not None:
            cost = verdict.cost
            took_s = cost.build_s + cost.check_s + cost.time_s
            self._costliest_s = max(self._costliest_s, took_s)

    @property
    def last_start_s(self) -> float:
        """The time of the monotonic clock at which the last verdict must begin."""
        return self._end_s - (SLACK * self._costliest_s or self._first_s)

    @property
    def is_near(self) -> bool:
        """Whether one more verdict is not expected to come in time."""
        return time.monotonic() > self.last_start_s

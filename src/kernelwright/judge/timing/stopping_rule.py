"""The stopping rule: how many rounds are timed."""

from __future__ import annotations

from kernelwright.core.evaluation import Ratio, median_ratio
from kernelwright.core.standing import Standing

MIN_ROUNDS = 7
MAX_ROUNDS = 80
UNDECIDED = 3
"""Times as many rounds, and as much time, for a candidate that is undecided beside the library."""
TIGHT = 0.02
"""Half the interval over the median at which more rounds are not worth their time."""
HOPELESS = 0.85
"""A candidate whose whole interval is below this is not measured more closely."""
HOPELESS_ROUNDS = 6  # the fewest that give an interval of 95 %
CHECKPOINTS = (HOPELESS_ROUNDS, MIN_ROUNDS, 10, 14, 20, 28, 40, 56)
"""The rounds after which the interval is inspected. To stop at the first of all rounds that shows
a narrow one would select lucky runs: intervals of 95 % would hold the truth in 92 % of runs at
3.5 % noise, and do in 94 % (``benchmarks/judge_intervals.py``)."""


LATE_CHECKPOINTS = (HOPELESS_ROUNDS, 10, 20, 40, 80)
"""The same after the budget. They are few, because every look selects lucky runs: with these a
kernel against itself wins in 2 to 5 % of runs, and in 93 to 96 % its interval holds 1."""


def is_enough(ratios: list[float], spent_s: float, budget_s: float) -> bool:
    """True if more rounds are not worth their time.

    The rounds after the budget are for candidates that were undecided at the last checkpoint.
    """
    n = len(ratios)
    if n < HOPELESS_ROUNDS:
        return False
    if n >= MAX_ROUNDS or (n >= MIN_ROUNDS and spent_s > budget_s):
        if n >= UNDECIDED * MAX_ROUNDS or spent_s > UNDECIDED * budget_s:
            return True
        n_seen = max(checkpoint for checkpoint in LATE_CHECKPOINTS if checkpoint <= n)
        return median_ratio(ratios[:n_seen]).standing is not Standing.UNDECIDED
    if n not in CHECKPOINTS:
        return False
    interval = median_ratio(ratios)
    if interval.high < HOPELESS:
        return True
    return n >= MIN_ROUNDS and half_width(interval) < TIGHT


def half_width(interval: Ratio) -> float:
    """Half the width of an interval, as a share of its median."""
    return (interval.high - interval.low) / 2 / interval.median

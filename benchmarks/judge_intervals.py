"""How often the judge's intervals hold the truth, by arithmetic and by simulation; no kernel runs.

    python benchmarks/judge_intervals.py [--runs 4000]

The first table: the chance that the interval of the median of n ratios holds the true one, by the
judge's ranks and by the percentile bootstrap of the median, both exact. The second: kernels against
themselves with lognormal noise, measured until the interval is narrow, looked at after the judge's
rounds or after every round. The third: where such kernels stand beside the library by the whole
stopping rule, which gives undecided ones more rounds. Seeds are fixed: the same figures every time.
"""

from __future__ import annotations

import argparse
import math
import random
from collections import Counter
from collections.abc import Collection

from rich.console import Console
from rich.table import Table

from kernelwright.core.evaluation import CONFIDENCE, median_ratio
from kernelwright.core.standing import Standing
from kernelwright.judge.timing.stopping_rule import (
    CHECKPOINTS,
    MAX_ROUNDS,
    MIN_ROUNDS,
    TIGHT,
    half_width,
    is_enough,
)

COUNTS = (6, 7, 10, 14, 20, 40, 80)
NOISE = (0.015, 0.02, 0.025, 0.03, 0.035, 0.05)
"""Standard deviations of the logarithm of one time."""
HIGH_NOISE = (0.1, 0.2, 0.3)
"""The same on a machine with busy neighbours."""


def held(low: int, high: int, n: int) -> float:
    """The chance that the median lies between the values of these ranks, whatever varies.

    Source:
        David & Nagaraja, Order Statistics, 3rd ed., section 7.1.
    """
    return sum(math.comb(n, below) for below in range(low, high)) / 2**n


def ranks(n: int) -> tuple[int, int]:
    """The judge's: found by asking it for the interval of the numbers from 1 to n."""
    interval = median_ratio([float(i) for i in range(1, n + 1)])
    return int(interval.low), int(interval.high)


def bootstrap_ranks(n: int) -> tuple[int, int]:
    """Of the percentile bootstrap: a resample's median is at most the k-th value when as many of
    its draws are. Source: Efron 1982, The Jackknife, the Bootstrap, section 10.3."""

    def reached(k: int, middle: int) -> float:
        share = k / n
        return sum(
            math.comb(n, i) * share**i * (1 - share) ** (n - i) for i in range(middle, n + 1)
        )

    tail = (1 - CONFIDENCE) / 2
    low = next(k for k in range(1, n + 1) if reached(k, (n + 1) // 2) >= tail)
    high = next(k for k in range(1, n + 1) if reached(k, n // 2 + 1) >= 1 - tail)
    return low, high


def share_held(checkpoints: Collection[int], noise: float, runs: int) -> float:
    """The share of kernels measured against themselves whose last interval holds 1."""
    draw, hits = random.Random(1), 0
    for _ in range(runs):
        ratios: list[float] = []
        while len(ratios) < MAX_ROUNDS:
            ratios.append(draw.lognormvariate(0, noise) / draw.lognormvariate(0, noise))
            n = len(ratios)
            if n >= MIN_ROUNDS and n in checkpoints and half_width(median_ratio(ratios)) < TIGHT:
                break
        interval = median_ratio(ratios)
        hits += interval.low <= 1 <= interval.high
    return hits / runs


def ended(noise: float, runs: int) -> tuple[Counter[Standing], float, float]:
    """Where kernels measured against themselves stand by the judge's rule, the share of intervals
    that hold 1, and the mean number of rounds."""
    draw, stands, hits, n_rounds = random.Random(1), Counter[Standing](), 0, 0
    for _ in range(runs):
        ratios: list[float] = []
        while not is_enough(ratios, spent_s=0.0, budget_s=1.0):
            ratios.append(draw.lognormvariate(0, noise) / draw.lognormvariate(0, noise))
        interval = median_ratio(ratios)
        stands[interval.standing] += 1
        hits += interval.low <= 1 <= interval.high
        n_rounds += len(ratios)
    return stands, hits / runs, n_rounds / runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    runs = parser.parse_args().runs
    console = Console(width=100)
    by_count = Table("ratios", "the judge's ranks", "percentile bootstrap")
    for n in COUNTS:
        chances = (held(*ranks(n), n), held(*bootstrap_ranks(n), n))
        by_count.add_row(str(n), *(f"{chance:.3f}" for chance in chances))
    by_noise = Table("noise", "inspected after the judge's rounds", "after every round")
    for noise in NOISE:
        rules = (CHECKPOINTS, range(MAX_ROUNDS))
        shares = (share_held(checkpoints, noise, runs) for checkpoints in rules)
        by_noise.add_row(f"{noise:.1%}", *(f"{share:.3f}" for share in shares))
    shown = (Standing.FASTER, Standing.UNDECIDED, Standing.NO_FASTER, Standing.SLOWER)
    by_rule = Table("noise", *shown, "holds 1", "rounds")
    for noise in (*NOISE, *HIGH_NOISE):
        stands, share, n_rounds = ended(noise, runs)
        shares = (f"{stands[standing] / runs:.3f}" for standing in shown)
        by_rule.add_row(f"{noise:.1%}", *shares, f"{share:.3f}", f"{n_rounds:.0f}")
    console.print(by_count, by_noise, by_rule)


if __name__ == "__main__":
    main()

"""Successive halving: many arms are timed in interleaved rounds, and the slower half drops out.

Source:
    Jamieson and Talwalkar, "Non-stochastic best arm identification and hyperparameter
    optimization", AISTATS 2016.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Collection, Sequence

from kernelwright.core.evaluation import CONFIDENCE

STAGES = (2, 2, 4, 8)
"""Number of rounds of each stage. After every stage the slower half of the arms drops out."""
FINAL_STAGES = (8, 8, 16)
"""The same for the last race of a search, among the best of all."""
FEWEST = 3
"""Number of arms that stay until the last stage: as many as a search hands to the judge."""
QUARTER = 0.25
FAR = 2.0
"""An arm that takes so many times as long as the fastest is dropped at once."""


def race(
    arms: Sequence[str],
    time_ns: Callable[[str], float],
    *,
    kept: Collection[str] = (),
    stages: Sequence[int] = STAGES,
    seed: int = 0,
) -> dict[str, list[float]]:
    """Return the samples of every arm, in nanoseconds.

    ``time_ns`` times one call of an arm. In a round every standing arm is called once, in random
    order, so that drift of the clock meets all of them alike. The arms in ``kept`` never drop out:
    others are compared with them.
    """
    rng = random.Random(seed)
    samples: dict[str, list[float]] = {arm: [] for arm in arms}
    standing = list(arms)
    for n_rounds in stages:
        for _ in range(n_rounds):
            for arm in rng.sample(standing, len(standing)):
                samples[arm].append(time_ns(arm))
        standing = _standing(standing, samples, kept)
    return samples


def typical_ns(samples: Sequence[float]) -> float:
    """Return the lower quartile: other programs and interrupts only ever make a call longer."""
    return sorted(samples)[len(samples) // 4]


def quartile_interval(samples: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an interval that holds the lower quartile of what the samples are drawn
    from, at the rate of every interval or, where they are few, as far as their whole range goes.

    Source:
        Order statistics: David & Nagaraja, Order Statistics, 3rd ed., section 7.1.
    """
    ordered, n, missed = sorted(samples), len(samples), (1 - CONFIDENCE) / 2
    below = [math.comb(n, k) * QUARTER**k * (1 - QUARTER) ** (n - k) for k in range(n + 1)]
    low = max((k for k in range(n) if sum(below[: k + 1]) <= missed), default=0)
    high = min((k for k in range(1, n + 1) if sum(below[k:]) <= missed), default=n)
    return ordered[low], ordered[high - 1]


def _standing(
    arms: Sequence[str], samples: dict[str, list[float]], kept: Collection[str]
) -> list[str]:
    """Return the faster half of the arms, and those that are kept."""
    times = {arm: typical_ns(samples[arm]) for arm in arms}
    ranked = sorted(arms, key=times.__getitem__)
    limit_ns = FAR * times[ranked[0]]
    n_best = max(FEWEST, len(ranked) // 2)
    best = [arm for arm in ranked[:n_best] if times[arm] <= limit_ns]
    return [*best, *(arm for arm in arms if arm in kept and arm not in best)]

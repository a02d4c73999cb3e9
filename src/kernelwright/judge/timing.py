"""Timing: rounds in which every series runs once on the same fresh inputs, in random order."""

from __future__ import annotations

import contextlib
import os
import random
import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import torch

from kernelwright.core.evaluation import CANDIDATE, Ratio, Timing, bootstrap_ratio
from kernelwright.judge.check import Check
from kernelwright.judge.oracle import TASK, Draw, derive_seed
from kernelwright.judge.runner import Runner

MIN_ROUNDS = 7  # the fewest for which a percentile interval of a median excludes single outliers
MAX_ROUNDS = 80
TIGHT = 0.02
"""Half the interval over the median at which more rounds are not worth their time."""
HOPELESS = 0.85
"""A candidate whose whole interval is below this is not measured more closely."""
HOPELESS_ROUNDS = 5
DEFAULT_L3_BYTES = 32 << 20  # where the kernel does not say


def last_level_cache_bytes() -> int:
    """The size of the last-level cache, as the kernel reports it."""
    sizes = []
    for path in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size"):
        text = path.read_text().strip()
        sizes.append(int(text[:-1]) * {"K": 1 << 10, "M": 1 << 20}[text[-1]])
    return max(sizes, default=DEFAULT_L3_BYTES)


class CacheFlush:
    """Overwrites a buffer of twice the last-level cache, so that the next call starts cold."""

    def __init__(self) -> None:
        self.buffer = torch.zeros(2 * last_level_cache_bytes(), dtype=torch.uint8)

    def __call__(self) -> None:
        self.buffer.add_(1)


def is_enough(ratios: list[float], spent_s: float, budget_s: float) -> bool:
    """Whether more rounds are not worth their time."""
    n = len(ratios)
    if n >= MAX_ROUNDS:
        return True
    if n < HOPELESS_ROUNDS:
        return False
    interval = bootstrap_ratio(ratios)
    if interval.high < HOPELESS:
        return True
    if n < MIN_ROUNDS:
        return False
    return spent_s > budget_s or half_width(interval) < TIGHT


def half_width(interval: Ratio) -> float:
    return (interval.high - interval.low) / 2 / interval.median


@contextlib.contextmanager
def on_one_core() -> Iterator[None]:
    """Keep this thread on the first core, and let the judge's torch use no other thread.

    A child is woken where its waker runs, and the threads of an OpenMP pool spin for
    milliseconds after their work: either would cost the measured child a core.
    """
    threads, cores = torch.get_num_threads(), os.sched_getaffinity(0)
    torch.set_num_threads(1)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        os.sched_setaffinity(0, cores)


class Stopwatch:
    """Times modules that run in their own children, one at a time, all others standing still."""

    def __init__(self, *, cache: str, limit_s: float) -> None:
        self.cache = cache
        self.limit_s = limit_s
        self._flush = CacheFlush() if cache == "cold" else None

    def turn(
        self,
        runner: Runner,
        arguments: list[Any],
        inspect: Callable[[list[Any]], bool] | None = None,
    ) -> int:
        """One timed call; ``inspect`` sees the described outputs before the child goes on.

        It returns whether the child is to hold on to the outputs.

        Units:
            Nanoseconds of the judge's clock.
        """
        with on_one_core():
            runner.put(arguments)
            if self._flush is not None:
                self._flush()
            elapsed_ns, described = runner.call(limit_s=self.limit_s)
        hold = inspect(described) if inspect is not None else False
        runner.release(hold=hold)
        runner.stand_still()
        return elapsed_ns

    def quick(self, runner: Runner, arguments: list[Any], n_calls: int) -> float:
        """The median of a few calls, after one that is not counted.

        Units:
            Nanoseconds of the judge's clock.
        """
        runner.child.prioritise()
        return statistics.median([self.turn(runner, arguments) for _ in range(n_calls + 1)][1:])

    def compare(
        self,
        candidate: Runner,
        baselines: Mapping[str, Runner],
        *,
        strongest: str,
        arguments_of: Callable[[Draw], list[Any]],
        check: Check,
        seed: int,
        budget_s: float,
    ) -> Timing:
        """Rounds until the speedup over the strongest baseline is known well enough.

        Source:
            Pairing within rounds and random order: STABILIZER (Curtsinger & Berger 2013).
        """
        runners = {CANDIDATE: candidate, **baselines}
        candidate.child.prioritise()
        samples: dict[str, list[int | None]] = {name: [] for name in runners}
        order = random.Random(derive_seed(seed, "order"))
        start_s = time.monotonic()
        ratios: list[float] = []
        while not is_enough(ratios, time.monotonic() - start_s, budget_s):
            draw = Draw(TASK, derive_seed(seed, "round", len(ratios)))
            arguments = arguments_of(draw)
            if not ratios:  # the first call after other work is slow: caches, clocks, page tables
                for runner in runners.values():
                    self.turn(runner, arguments)
            for name in order.sample(list(runners), len(runners)):
                inspect = check.start(draw, arguments) if name == CANDIDATE else None
                samples[name].append(self.turn(runners[name], arguments, inspect))
            ratios.append(samples[strongest][-1] / samples[CANDIDATE][-1])
        check.finish()
        frozen = {name: tuple(values) for name, values in samples.items()}
        return Timing(frozen, strongest=strongest, clock="parent", cache=self.cache)

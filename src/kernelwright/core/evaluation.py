"""Evaluation: what the judge found, and the statistics derived from its raw samples."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from kernelwright.core.conditions import Conditions
from kernelwright.core.digest import digest
from kernelwright.core.outcome import Reason, Status, Warned, WarningCode
from kernelwright.core.standing import Standing

CANDIDATE = "candidate"
"""The name of the candidate's own samples in a Timing."""
TF32 = "tf32"
"""The mark of a win with TF32's errors."""
CONFIDENCE = 0.95
"""Of every interval."""
WIDEST = 1.5
"""An interval whose ends differ by more than this factor is no measurement: 0.36 to 1.53 agrees
with nearly every other. Noisy but usable runs on two shared cores gave up to 1.4."""
LEAST_GAIN = 1.05
"""Speedup from which a gain is worth knowing: an interval that holds 1 and ends below this is no
open question."""


@dataclass(frozen=True)
class Ratio:
    """A speedup: baseline time over candidate time, median and 95 % interval."""

    median: float
    low: float
    high: float

    @property
    def is_known(self) -> bool:
        """Whether the interval is narrow enough to be a measurement."""
        return self.high <= WIDEST * self.low

    @property
    def is_win(self) -> bool:
        """Whether all of it is above 1, and known; one that is wide must be farther above."""
        return self.low > 1 and (self.is_known or self.low > WIDEST)

    @property
    def standing(self) -> Standing:
        """Where it puts a candidate beside the library."""
        if self.is_win:
            return Standing.FASTER
        if self.high < 1:
            return Standing.SLOWER
        return Standing.UNDECIDED if self.high > LEAST_GAIN else Standing.NO_FASTER

    def __str__(self) -> str:
        """'1.83 (1.80–1.86)'."""
        digits = 2 if self.median < 100 else 0
        low, high = f"{self.low:.{digits}f}", f"{self.high:.{digits}f}"
        return f"{self.median:.{digits}f} ({low}–{high})"


@dataclass(frozen=True)
class Timing:
    """Raw samples. Row i of every series was measured in round i, in random order, side by side.

    A sample is the time of a window over the calls in it. Calls in a window follow each other, each
    on inputs of its own. Speedups are ratios of these times.

    Units:
        Nanoseconds. ``None`` where a series was not measured in that round.
    """

    samples_ns: Mapping[str, tuple[int | None, ...]] = field(repr=False)
    """By name: 'candidate', and one series per baseline ('eager', 'compile', ...)."""
    strongest: str
    """The baseline that the headline speedup is against: the fastest library setting."""
    clock: str
    """Which clock: 'parent' (wall time between two processes) or 'device' (events)."""
    cache: str
    """'cold' (caches flushed before each window, and no input comes twice) or 'warm'."""
    calls: Mapping[str, int] = field(default_factory=dict)
    """The calls in a window, by name; empty where an older judge timed each call by itself."""
    latency_ns: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False)
    """Times of single calls, each waited for, with all that it takes to start one; empty where
    windows have one call."""
    floor_ns: float = 0.0
    """The time of a call that does nothing, in a window of as many as the candidate's. It is a part
    of every sample."""
    is_queued: bool = False
    """Calls were queued on a GPU before their inputs existed: times are the device's, without what
    starting kernels from Python costs. A candidate whose calls wait for the device pays for that
    all the same."""

    def median_ns(self, name: str) -> float:
        """The median time of one series in nanoseconds."""
        return statistics.median(s for s in self.samples_ns[name] if s is not None)

    def speedup(self, baseline: str) -> Ratio:
        """Baseline over candidate: the median of the ratios of every round, with its interval."""
        pairs = zip(self.samples_ns[baseline], self.samples_ns[CANDIDATE], strict=True)
        return median_ratio([b / c for b, c in pairs if b is not None and c is not None])

    @cached_property
    def speedups(self) -> dict[str, Ratio]:
        """The speedup against every baseline."""
        return {name: self.speedup(name) for name in self.samples_ns if name != CANDIDATE}

    @property
    def single_ns(self) -> dict[str, float]:
        """The median time of a single call that is waited for, by name; empty where windows have
        one call."""
        return {name: statistics.median(times) for name, times in self.latency_ns.items()}

    @property
    def single_speedup(self) -> float | None:
        """The library's shortest time of a single call over the candidate's, if there are any."""
        single_ns = self.single_ns
        if CANDIDATE not in single_ns:
            return None
        mine_ns = single_ns.pop(CANDIDATE)
        return min(single_ns.values()) / mine_ns


def median_ratio(ratios: Sequence[float]) -> Ratio:
    """The median of ``ratios`` with an interval that holds the true one at the stated rate or more.

    Fewer than six ratios cannot reach it: they give their whole range.

    Raises:
        ValueError: no ratios.
    Source:
        Order statistics, whatever the distribution: David & Nagaraja, Order Statistics, 3rd ed.,
        section 7.1. The percentile bootstrap of a median holds it in 87 % of runs at seven ratios.
    """
    if not ratios:
        raise ValueError("a speedup needs at least one pair of samples")
    return Ratio(statistics.median(ratios), *median_interval(ratios))


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """The ends of an interval that holds the median of what ``values`` are drawn from."""
    ordered = sorted(values)
    rank = _interval_rank(len(ordered))
    return ordered[rank - 1], ordered[-rank]


@cache
def _interval_rank(n: int) -> int:
    """The largest k at which the k-th smallest and the k-th largest of ``n`` hold the median.

    They miss it where fewer than k of the values fall on one side of it, each by a coin's toss.
    """
    tail, missed = (1 - CONFIDENCE) / 2, 0.0
    for below in range(n):
        missed += math.comb(n, below) / 2**n
        if missed > tail:
            return max(below, 1)
    return 1


@dataclass(frozen=True)
class Numerics:
    """Errors against float64, the candidate's beside the reference's own on the same inputs."""

    max_error: float
    """Largest |candidate - float64| over the scale of the float64 output, all inputs."""
    reference_error: float
    """The same for the reference in its own precision."""
    allowed_error: float
    distributions: tuple[str, ...]
    """The inputs that were checked: 'task', 'negated', ..., and the shapes of other inputs that
    the task declares, 'float32[7, 96]'."""


@dataclass(frozen=True)
class Cost:
    """Seconds that one judgement took, by part."""

    build_s: float = 0.0
    check_s: float = 0.0
    time_s: float = 0.0


@dataclass(frozen=True)
class KernelProfile:
    """What a profiler and a compiler said about one kernel, in one call of its candidate.

    The candidate's process reported it: a hint to whoever writes the next kernel, no more.
    """

    name: str
    time_ns: float
    """Of all its launches; 0 where no profiler saw any."""
    n_calls: int
    facts: Mapping[str, float | str]
    """By name with its unit: 'registers a thread', 'occupancy, %', 'compiler, line 3'."""


@dataclass(frozen=True)
class Environment:
    """The machine and software of a verdict."""

    device: str
    facts: Mapping[str, Any]

    @property
    def gpu(self) -> str:
        """The GPU's name, which ``device`` leaves out: an H100 and an H200 are both sm_90."""
        return str(self.facts.get("gpu", ""))

    @cached_property
    def digest(self) -> str:
        return digest("environment", self.device, dict(self.facts))


@dataclass(frozen=True)
class Evaluation:
    """One verdict. A time exists only where the candidate passed and was measured."""

    task: str
    workload: str
    candidate: str
    status: Status
    reasons: tuple[Reason, ...]
    """Why it did not pass; empty when it did."""
    environment: Environment
    seed: int
    judge_version: int
    kinds: tuple[str, ...] = ()
    """Of 'kernel', 'library', 'algebra': what kind of win it is."""
    warnings: tuple[Warned, ...] = ()
    """What a user should know although it passed: degenerate task, not timed."""
    numerics: Numerics | None = None
    timing: Timing | None = None
    cost: Cost = field(default_factory=Cost)
    guarantees: tuple[str, ...] = ()
    """Which separations held while it was judged, for example 'network', 'filesystem'."""
    profile: tuple[KernelProfile, ...] = ()
    """Its kernels, where models are to read about them."""
    conditions: Conditions | None = None
    """Of the machine while it was timed; verdicts of older judges have none."""

    def __post_init__(self) -> None:
        if self.timing is not None and self.status is not Status.PASSED:
            raise ValueError(f"status {self.status} cannot carry a timing")
        if bool(self.reasons) == self.passed:
            raise ValueError(f"status {self.status} does not fit reasons {self.reasons}")
        for reason in self.reasons:
            if reason.code.status not in (None, self.status):
                raise ValueError(f"status {self.status} does not fit the code {reason.code}")

    @property
    def passed(self) -> bool:
        """Whether the candidate is right, and nothing was held against it."""
        return self.status is Status.PASSED

    @property
    def why(self) -> str:
        """The details of its reasons, for a person; empty where it passed."""
        return "; ".join(reason.detail for reason in self.reasons)

    @property
    def is_degenerate(self) -> bool:
        """Whether its task is: a fast kernel for that proves nothing."""
        return any(one.code is WarningCode.DEGENERATE_TASK for one in self.warnings)

    @property
    def is_tf32(self) -> bool:
        """Whether it has TF32's errors, which the library's flags allow: a comparison with float32
        may fail."""
        return any(one.code is WarningCode.TF32 for one in self.warnings)

    @property
    def marks(self) -> tuple[str, ...]:
        """Its kinds, and 'tf32' where it has TF32's errors: what tables show beside a win."""
        return (*self.kinds, *([TF32] if self.is_tf32 else []))

    @property
    def is_own(self) -> bool:
        """Whether own code does the work. What could not be profiled has the benefit of the doubt:
        it may count as right, and as nothing more."""
        return "kernel" in self.kinds or not self.kinds

    @property
    def speedup(self) -> Ratio | None:
        """Against the strongest baseline; None where it was not timed."""
        return None if self.timing is None else self.timing.speedups[self.timing.strongest]

    @property
    def standing(self) -> Standing:
        """Where the candidate stands beside the strongest baseline."""
        if not self.passed:
            return Standing.REFUSED
        return self.speedup.standing if self.speedup else Standing.NOT_TIMED

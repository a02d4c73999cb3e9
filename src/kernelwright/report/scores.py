"""What a suite came to: means, quartiles and fast_p by level, kinds and degenerate tasks apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean, median, quantiles

from kernelwright.core.evaluation import Evaluation
from kernelwright.core.standing import SearchOutcome
from kernelwright.report.chapter import Chapter

KINDS = ("kernel", "library", "algebra")
THRESHOLDS = (1.0, 1.2, 1.5, 2.0, 3.0, 5.0)
"""Speedups p at which fast_p is told as a number; the chart shows all of them."""
PLAIN = ("eager", "compile")
"""The library as most users run it."""
ALL, APART = "all", "degenerate"


@dataclass(frozen=True)
class Score:
    """What became of one task of a suite.

    ``gain`` is the speedup over the strongest library setting of what the user is handed: 1 where
    the library stays best, where it is undecided, and where the search failed, because the library
    runs then too.
    ``plain_gain`` is the same over the faster of eager and torch.compile.
    """

    level: str
    name: str
    gain: float = 1.0
    plain_gain: float = 1.0
    kinds: tuple[str, ...] = ()
    is_tf32: bool = False
    """Whether the winner has TF32's errors."""
    is_undecided: bool = False
    is_degenerate: bool = False
    is_failed: bool = False
    copy_share: float | None = None
    """Of the rate at which a copy moves as many bytes, that what the user is handed reaches: its
    memory roofline. None where nobody looked."""


@dataclass(frozen=True)
class KindShare:
    """What the wins of one kind come to when they alone are counted. A win may be of several."""

    kind: str
    n: int
    geometric_mean: float


@dataclass(frozen=True)
class LevelSummary:
    """The tasks of one level. Degenerate ones stand apart, in a summary of their own."""

    level: str
    n: int
    n_won: int
    n_undecided: int
    n_failed: int
    geometric_mean: float
    plain_mean: float
    """The geometric mean over the faster of eager and torch.compile."""
    median: float
    lower_quartile: float
    upper_quartile: float
    fast: dict[str, float]
    """fast_p: the share of the tasks that became more than p times as fast.

    Source:
        KernelBench, arXiv 2502.10517, section 3.3, with the strongest setting as the baseline.
    """
    kinds: tuple[KindShare, ...]
    n_tf32: int
    without_tf32: float
    """The geometric mean with the wins that have TF32's errors set to 1."""
    copy_share: float | None
    """The median of the tasks' shares of the memory roofline, where they are known."""


def score(chapter: Chapter, level: str) -> Score:
    """What one task's verdicts come to."""
    verdicts = [found for _, found in chapter.history]
    return Score(
        level=level,
        name=chapter.task.name,
        gain=max(1.0, chapter.gain),
        plain_gain=_plain_gain(chapter.best[1]) if chapter.best else 1.0,
        kinds=chapter.best[1].kinds if chapter.best else (),
        is_tf32=chapter.best is not None and chapter.best[1].is_tf32,
        is_undecided=chapter.conclusion.outcome is SearchOutcome.UNDECIDED,
        is_degenerate=any(found.is_degenerate for found in verdicts),
    )


def _plain_gain(evaluation: Evaluation) -> float:
    timing = evaluation.timing
    if timing is None:
        return 1.0
    measured = [name for name in PLAIN if name in timing.samples_ns]
    fastest = min(measured, key=timing.median_ns, default=timing.strongest)
    return max(1.0, timing.speedup(fastest).median)


def summaries(scores: Sequence[Score]) -> list[LevelSummary]:
    """One per level, then all levels if there are several, then the degenerate tasks."""
    sound = [s for s in scores if not s.is_degenerate]
    levels = sorted({s.level for s in sound})
    parts = {level: [s for s in sound if s.level == level] for level in levels}
    if len(levels) > 1:
        parts[ALL] = sound
    parts[APART] = [s for s in scores if s.is_degenerate]
    return [_summary(level, part) for level, part in parts.items() if part]


def _summary(level: str, part: list[Score]) -> LevelSummary:
    gains = [s.gain for s in part]
    shares = [s.copy_share for s in part if s.copy_share is not None]
    lower, _, upper = quantiles(gains, n=4, method="inclusive") if len(gains) > 1 else gains * 3
    return LevelSummary(
        level=level,
        n=len(part),
        n_won=sum(gain > 1 for gain in gains),
        n_undecided=sum(s.is_undecided for s in part),
        n_failed=sum(s.is_failed for s in part),
        geometric_mean=geometric_mean(gains),
        plain_mean=geometric_mean([s.plain_gain for s in part]),
        median=median(gains),
        lower_quartile=lower,
        upper_quartile=upper,
        fast={f"{p:g}": sum(gain > p for gain in gains) / len(gains) for p in THRESHOLDS},
        kinds=tuple(_share(kind, part) for kind in KINDS),
        n_tf32=sum(s.is_tf32 for s in part),
        without_tf32=geometric_mean([1.0 if s.is_tf32 else s.gain for s in part]),
        copy_share=median(shares) if shares else None,
    )


def _share(kind: str, part: list[Score]) -> KindShare:
    gains = [s.gain if kind in s.kinds else 1.0 for s in part]
    return KindShare(kind, sum(kind in s.kinds for s in part), geometric_mean(gains))

"""What each technique brought to a suite, alone and combined: an ablation out of the archive.

Nothing is measured for it. A technique is left out by leaving out the candidates that use it, so
the table knows what was tried, and not what would have been tried instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import prod
from statistics import geometric_mean

from kernelwright.archive import ranking
from kernelwright.archive.ranking import Pair
from kernelwright.report.chapter import Chapter

IN = "in "
BASE = "fused"
"""What nearly every candidate does; it does not count as another technique beside one."""


@dataclass(frozen=True)
class Technique:
    """One rule, one way to fuse, or one dialect.

    Means are geometric, over all tasks, of the speedup over the strongest library setting; a task
    without a winner counts 1.
    """

    name: str
    n_tried: int
    """Tasks with a judged candidate that uses it."""
    n_won: int
    """Tasks whose best candidate uses it."""
    alone: float
    """The mean of the candidates that use nothing else (of a dialect: that are in it)."""
    without: float
    """The mean of the candidates that do not use it."""
    added: float
    """The mean of all candidates over ``without``."""


@dataclass(frozen=True)
class Ablation:
    """All techniques of a suite, those that added most first."""

    n_tasks: int
    combined: float
    """The mean of all candidates."""
    product: float
    """Of ``alone`` over all rules and ways to fuse: the mean, if their gains multiplied."""
    techniques: tuple[Technique, ...]


def ablation(found: Sequence[Chapter], *, n_tasks: int = 0) -> Ablation:
    """What each technique brought; of ``n_tasks``, where some have no chapter."""
    histories = [ranking.latest(chapter.history) for chapter in found]
    n_tasks = max(n_tasks, len(histories))

    def mean(counted: Iterable[list[Pair]]) -> float:
        gains = [max(map(_gain, pairs), default=1.0) for pairs in counted]
        return geometric_mean([*gains, *[1.0] * (n_tasks - len(gains))]) if n_tasks else 1.0

    whole = mean(histories)
    named = {name for pairs in histories for pair in pairs for name in (*_ways(pair), _in(pair))}
    rows = []
    for name in named:
        users = [[p for p in pairs if name in (*_ways(p), _in(p))] for pairs in histories]
        single = [[p for p in pairs if _ways(p) - {BASE} <= {name}] for pairs in users]
        others = [[p for p in pairs if name not in (*_ways(p), _in(p))] for pairs in histories]
        without = mean(others)
        winners = (chapter.best for chapter in found)
        rows.append(
            Technique(
                name=name,
                n_tried=sum(map(bool, users)),
                n_won=sum(name in (*_ways(best), _in(best)) for best in winners if best),
                alone=mean(users if name.startswith(IN) else single),
                without=without,
                added=whole / without,
            )
        )
    rows.sort(key=lambda row: (-row.added, -row.n_won, row.name))
    product = prod(row.alone for row in rows if not row.name.startswith(IN))
    return Ablation(n_tasks, whole, product, tuple(rows))


def _in(pair: Pair) -> str:
    return IN + pair[0].candidate.dialect


def _ways(pair: Pair) -> set[str]:
    """The rules that made a candidate, and its variant in words: 'fused', 'own matmul'."""
    return {word for step in pair[0].lineage for word in step.split(", ")}


def _gain(pair: Pair) -> float:
    evaluation = pair[1]
    return evaluation.speedup.median if ranking.wins(evaluation) else 1.0

"""The cost model: the prior, and what the archive's trials of other tasks say it gets wrong.

Trees learn how far the time of a candidate is from the prior's, against the same of the other
candidates of its task. So the model orders the candidates of a task that it has never seen, and
where it knows nothing, the prior's order stands.
"""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.core.trial import Outline, Trial
from kernelwright.tuner.features import features
from kernelwright.tuner.prior import Machine, prior_ns

FEWEST_TASKS, FEWEST_TRIALS = 3, 60
"""Tasks and trials below which nothing is learned from them."""
FEWEST_OF_TASK = 4
"""Trials of a task below which they say nothing of each other."""
N_TREES, FEWEST_OF_LEAF = 64, 2
MOST_TRIALS = 3000
"""The newest trials that are learned from: fitting to them takes half a second."""
MISSING = "the cost model is not used: scikit-learn is missing; pip install 'kernelwright[tuner]'"

Numbers = NDArray[np.float64]
Groups = Mapping[tuple[str, str], Sequence[Trial]]
"""Trials by the digests of task and environment."""


@dataclass(frozen=True)
class Quality:
    """How good an order of a task's candidates was, against what was measured."""

    rank_correlation: float
    """Spearman's, from -1 to 1: the mean over tasks."""
    regret: Mapping[int, float]
    """k → by how much more time the best of the first k took than the best of all: the mean."""
    n_tasks: int

    def __str__(self) -> str:
        late = ", ".join(f"{100 * share:.0f} % ({k})" for k, share in self.regret.items())
        told = f"rank correlation {self.rank_correlation:.2f}; the best of the first few took"
        return f"{told} {late} longer than the best of all"


class CostModel:
    """Expects times of candidates; without trials of other tasks, the prior's."""

    def __init__(self, machine: Machine, past: Groups | None = None) -> None:
        """``past``: trials of other tasks on this kind of device, to learn from."""
        self._machine = machine
        self._groups = [one for one in (past or {}).values() if len(one) >= FEWEST_OF_TASK]
        self.n_tasks, self.n_trials = len(self._groups), sum(map(len, self._groups))
        has_enough = self.n_tasks >= FEWEST_TASKS and self.n_trials >= FEWEST_TRIALS
        has_library = importlib.util.find_spec("sklearn") is not None
        self.is_learned = has_enough and has_library
        self.why_not = MISSING if has_enough and not has_library else ""
        """Why it is the prior alone, although there are trials."""

    @cached_property
    def _trees(self) -> Any:
        """The trees, fitted when they are first asked."""
        rows = [self._features(trial) for group in self._groups for trial in group]
        return _fitted(np.array(rows), np.concatenate([*map(self._off, self._groups)]))

    def __str__(self) -> str:
        if not self.is_learned:
            return "a roofline prior"
        return f"a cost model of {self.n_trials} trials of {self.n_tasks} tasks"

    def log_ns(self, candidates: Sequence[tuple[Outline, Mapping[str, Any], str]]) -> Numbers:
        """Return the logarithm of each candidate's expected time in nanoseconds.

        A candidate is an outline, the schedule of its proposal and a dialect. The logarithms are
        right up to a number that is the same for all candidates of a task.
        """
        expected = np.array([math.log(prior_ns(o, s, self._machine)) for o, s, _ in candidates])
        if not self.is_learned or not candidates:
            return expected
        rows = [features(*one, self._machine) for one in candidates]
        found: Numbers = expected + self._trees.predict(np.array(rows))
        return found

    def _features(self, trial: Trial) -> list[float]:
        assert trial.outline is not None
        return features(trial.outline, trial.schedule, trial.dialect, self._machine)

    def _off(self, group: Sequence[Trial]) -> Numbers:
        """Return how far the logarithms of times are from the prior's, beside their median."""
        off = np.array([math.log(t.time_ns or 1.0) - self._prior(t) for t in group])
        centred: Numbers = off - np.median(off)
        return centred

    def _prior(self, trial: Trial) -> float:
        assert trial.outline is not None
        return math.log(prior_ns(trial.outline, trial.schedule, self._machine))


def _fitted(rows: Numbers, off: Numbers) -> Any:
    from sklearn.ensemble import ExtraTreesRegressor

    trees = ExtraTreesRegressor(
        N_TREES, min_samples_leaf=FEWEST_OF_LEAF, max_features=0.5, random_state=0
    )
    return trees.fit(rows, off)


def quality(
    orders: Iterable[tuple[Sequence[float], Sequence[float]]], ks: Sequence[int] = (1, 4, 8)
) -> Quality:
    """Return how good orders are: for each task the expected times, and the measured ones."""
    ranks, regrets = [], []
    for expected, measured in orders:
        order = np.argsort(expected, kind="stable")
        times = np.asarray(measured)[order]
        ranks.append(rank_correlation(expected, measured))
        regrets.append([times[:k].min() / times.min() - 1.0 for k in ks])
    means = np.mean(regrets, axis=0) if regrets else [math.nan] * len(ks)
    mean = float(np.mean(ranks)) if ranks else math.nan
    return Quality(mean, dict(zip(ks, map(float, means), strict=True)), len(ranks))


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Return Spearman's correlation of ranks; 0 where all of one side are equal."""
    ranks = [_ranks(np.asarray(values)) for values in (one, other)]
    if any(rank.std() == 0 for rank in ranks):
        return 0.0
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _ranks(values: Numbers) -> Numbers:
    """Return the ranks of values; equal ones share the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    means: Numbers = (ends - (counts - 1) / 2)[inverse]
    return means


def held_out(machine: Machine, past: Groups, n_folds: int = 5) -> dict[str, Quality]:
    """Return how good the orders of tasks are that a model did not learn from, and those of the
    prior and of the list in which they were tried. The newest trial of a task is its first.

    Tasks are dealt into folds; each fold is ordered by a model of the others.
    """
    names = sorted({task for task, _ in past})
    orders: dict[str, list[tuple[list[float], list[float]]]] = {
        "model": [],
        "prior": [],
        "list": [],
    }
    for fold in range(n_folds):
        mine = set(names[fold::n_folds])
        model = CostModel(machine, {k: v for k, v in past.items() if k[0] not in mine})
        prior = CostModel(machine)
        for (task, _), group in past.items():
            if task not in mine or len(group) < FEWEST_OF_TASK:
                continue
            measured = [trial.time_ns or 1.0 for trial in group]
            candidates = [(t.outline or Outline(()), t.schedule, t.dialect) for t in group]
            orders["model"].append(([*model.log_ns(candidates)], measured))
            orders["prior"].append(([*prior.log_ns(candidates)], measured))
            orders["list"].append(([*map(float, range(len(group), 0, -1))], measured))
    return {name: quality(found) for name, found in orders.items()}

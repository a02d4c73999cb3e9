"""The knobs that won for similar steps of other tasks, to begin a search with.

Two steps are similar if they are of one kind, share most operators, and have sizes of the same
order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelwright.core.trial import Outline, StepOutline, Trial
from kernelwright.tuner.cost_model import Groups

LEAST = 0.5
"""Similarity below which a step's knobs are not taken over."""
FADES = 4.0
"""Number of doublings of a size at which similarity has fallen to 1/e."""

Knobs = Mapping[str, Any]


class Winners:
    """The fastest candidate of every task in every dialect, by their steps."""

    def __init__(self, past: Groups) -> None:
        best: dict[tuple[str, str, str], Trial] = {}
        for of, trials in past.items():
            for trial in trials:
                key = (*of, trial.dialect)
                if key not in best or _time_ns(trial) < _time_ns(best[key]):
                    best[key] = trial
        self._steps: dict[str, list[tuple[StepOutline, Knobs]]] = {}
        for trial in best.values():
            kernels = trial.schedule.get("kernels", {})
            for step in trial.outline.steps if trial.outline else ():
                if isinstance(kernels.get(step.name), Mapping):
                    known = self._steps.setdefault(trial.dialect, [])
                    known.append((step, kernels[step.name]))

    def knobs(self, outline: Outline, dialect: str) -> dict[str, Knobs]:
        """Return the knobs of the most similar winning step, for each step that has one."""
        found = {}
        for step in outline.steps:
            known = self._steps.get(dialect, []) if step.name else []
            ranked = [(similarity(step, other), knobs) for other, knobs in known]
            alike, knobs = max(ranked, key=lambda one: one[0], default=(0.0, {}))
            if alike >= LEAST:
                found[step.name] = knobs
        return found


def similarity(one: StepOutline, other: StepOutline) -> float:
    """Return how alike two steps are, from 0 to 1."""
    if one.kind != other.kind:
        return 0.0
    words = one.form.keys() | other.form.keys()
    pairs = [(one.form.get(word, 0), other.form.get(word, 0)) for word in words]
    shared = sum(map(min, pairs)) / max(1, sum(map(max, pairs)))
    sizes = one.sizes.keys() & other.sizes.keys()
    doublings = [abs(math.log2((1 + one.sizes[n]) / (1 + other.sizes[n]))) for n in sizes]
    return shared * math.exp(-sum(doublings) / max(1, len(doublings)) / FADES)


def moves_apart(kernels: Mapping[str, Any], wanted: Mapping[str, Knobs]) -> float:
    """Return how many moves of knobs a schedule is from those that are wanted; knobs that it does
    not have do not count."""
    total = 0.0
    for step, knobs in wanted.items():
        mine = kernels.get(step, {})
        for name in knobs.keys() & mine.keys():
            one, other = mine[name], knobs[name]
            if all(isinstance(v, (int, float)) and v > 0 for v in (one, other)):
                total += abs(math.log2(one / other))
            else:
                total += one != other
    return total


def _time_ns(trial: Trial) -> float:
    return trial.time_ns or math.inf

"""Which knobs of a schedule mattered, as far as the trials of a search tell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kernelwright.core.trial import Trial
from kernelwright.proposers.emitted import MARK

N_SHOWN = 8
"""Knobs of a table that a screen shows whole."""


@dataclass(frozen=True)
class Knob:
    """One knob, by the fastest trial with each of its values.

    The other knobs of these trials may differ: a search tries few values beside bad ones.
    """

    name: str
    n_values: int
    best: str
    """The value of the fastest trial."""
    next_best: float
    """Time of the fastest trial with another value over the time of the fastest of all."""
    worst: float
    """The same for the value whose fastest trial is the slowest."""


def knobs(trials: Sequence[Trial]) -> list[Knob]:
    """The knobs that were tried with several values, those that cost most when set badly first."""
    fastest_ns: dict[str, dict[str, float]] = {}
    for trial in trials:
        if trial.time_ns is None:
            continue
        for name, value in _settings(trial.schedule):
            times = fastest_ns.setdefault(name, {})
            times[value] = min(times.get(value, trial.time_ns), trial.time_ns)
    found = [_knob(name, times) for name, times in fastest_ns.items() if len(times) > 1]
    return sorted(found, key=lambda knob: (-knob.worst, knob.name))


def _knob(name: str, fastest_ns: Mapping[str, float]) -> Knob:
    (best, best_ns), (_, next_ns), *_ = ranked = sorted(fastest_ns.items(), key=lambda one: one[1])
    return Knob(name, len(ranked), best, next_ns / best_ns, ranked[-1][1] / best_ns)


def _settings(schedule: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, str]]:
    """Every knob with its value as text; one of several kernels has the kernel's name before it."""
    for name, value in schedule.items():
        if name == "kernels" and isinstance(value, Mapping):
            yield from _settings(value)
        elif isinstance(value, Mapping):
            yield from _settings(value, f"{name}: ")
        elif name != MARK:
            yield f"{of}{name}", value if isinstance(value, str) else json.dumps(value)

"""A Gaussian process over knobs: it expects times near those that a search has measured.

It models how far times are from what the order before any trial expected. Candidates that differ
in few moves of knobs are alike; the fewer trials are near a candidate, the less is known of it.

Source:
    Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006, algorithm 2.1; Jones,
    Schonlau and Welch, "Efficient global optimization of expensive black-box functions", 1998.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelwright.core.candidate import Proposal

Numbers = NDArray[np.float64]

MOVE = 0.5
"""Distance of a knob's value from its double, and half the distance of two alternatives."""
REACH = 2.0
"""Distance over which what is known of a candidate fades: some four moves."""
NOISE = 0.02
"""Deviation of the logarithm of a trial's time."""
SPREAD = (0.05, 0.5)
"""Bounds of the deviation of the logarithms of times from what was expected."""
UNKNOWN = 0.3
"""Deviation that is taken as long as there are fewer than ``FEW`` trials."""
FEW = 6
MOST = 300
"""Number of trials that are used, the latest: the work grows with its cube."""


def gains(
    tried: Sequence[tuple[Proposal, float, float]], waiting: Sequence[tuple[Proposal, float]]
) -> Numbers:
    """Return the gain over the best time that each waiting candidate promises, as a logarithm.

    ``tried``: candidates with the logarithms of the expected and of the measured time;
    ``waiting``: candidates with that of the expected time.
    """
    expected = np.array([log_ns for _, log_ns in waiting])
    if not tried:
        return -expected
    best = min(found for _, _, found in tried)
    tried = tried[-MOST:]
    points = coordinates([p for p, *_ in tried] + [p for p, _ in waiting])
    known, asked = points[: len(tried)], points[len(tried) :]
    off = np.array([found - log_ns for _, log_ns, found in tried])
    middle = float(np.median(off))
    spread = UNKNOWN if len(tried) < FEW else float(np.clip(off.std(), *SPREAD))
    near = spread**2 * np.exp(-_distances(known, asked) / REACH)
    alike = spread**2 * np.exp(-_distances(known, known) / REACH)
    alike[np.diag_indices_from(alike)] += NOISE**2
    solved = np.linalg.solve(alike, near)
    mean = expected + middle + solved.T @ (off - middle)
    deviation = np.sqrt(np.maximum(1e-12, spread**2 - np.einsum("ij,ij->j", near, solved)))
    found: Numbers = _expected_gain((best - mean) / deviation) * deviation
    return found


def _expected_gain(z: Numbers) -> Numbers:
    """Return the mean of what a normal variable is above -z, where it is."""
    below = 0.5 * (1.0 + np.vectorize(math.erf, otypes=[float])(z / math.sqrt(2.0)))
    density = np.exp(-0.5 * z**2) / math.sqrt(2.0 * math.pi)
    return np.asarray(z * below + density)


def coordinates(proposals: Sequence[Proposal]) -> Numbers:
    """Return a row for each proposal, so that the sum of differences is the distance of two."""
    points = [dict(_values(proposal)) for proposal in proposals]
    names = {name: place for place, name in enumerate(dict.fromkeys(n for p in points for n in p))}
    found = np.zeros((len(points), len(names)))
    for row, point in zip(found, points, strict=True):
        for name, value in point.items():
            row[names[name]] = value
    return found


def _values(proposal: Proposal) -> list[tuple[str, float]]:
    """Return the coordinates of a proposal that are not zero."""
    schedule = proposal.schedule
    values = [
        (f"dialect {proposal.candidate.dialect}", 2 * MOVE),
        (f"variant {schedule.get('variant')}", 2 * MOVE),
    ]
    kernels: Mapping[str, Any] = schedule.get("kernels", {})
    for step, knobs in kernels.items():
        choices = knobs if isinstance(knobs, Mapping) else {"": knobs}
        for name, value in choices.items():
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                values.append((f"{step} {name}", MOVE * math.log2(1 + abs(value))))
            values.append((f"{step} {name} {type(value).__name__}", MOVE))
            if not isinstance(value, (int, float)) or isinstance(value, bool):
                values.append((f"{step} {name} {value}", MOVE))
    return values


def _distances(one: Numbers, other: Numbers) -> Numbers:
    return np.array([np.abs(other - row).sum(axis=1) for row in one])

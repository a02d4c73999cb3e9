"""A task's own inputs, changed as a draw asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernelwright.judge.draws import OWN_WEIGHTS, TASK, Draw
from kernelwright.judge.fixed import Run, takes
from kernelwright.judge.inputs import (
    BETWEEN,
    NUMBERS,
    OUTLIERS,
    OVERFLOWING,
    RESAMPLED,
    SPECIAL,
    enlarge,
    transform,
    vary_numbers,
    with_specials,
)
from kernelwright.judge.integers import resample_integers


def varied(
    own: list[Any], draw: Draw, *, run: Run, headroom: Callable[[list[Any]], float],
    fixed_integers: list[bool],
) -> list[Any]:  # fmt: skip
    """The arguments of a draw, from the task's ``own``; those that are not changed are the same.

    ``run`` is the reference, ``headroom`` as in ``inputs.headroom``, and of integers those that are
    fixed are drawn anew, as in ``resample_integers``.
    """
    if draw.distribution in (TASK, OWN_WEIGHTS):
        return own
    if draw.distribution == SPECIAL:
        return with_specials(own, draw.seed)
    if draw.distribution == OVERFLOWING:
        return enlarge(own, headroom(own))
    if draw.distribution == NUMBERS:
        return vary_numbers(own, draw.seed)
    if draw.distribution == RESAMPLED:
        return resample_integers(own, fixed_integers, draw.seed)
    changed = transform(own, draw.distribution, draw.seed)
    if draw.distribution == OUTLIERS and not takes(run, changed, instead_of=own):
        return transform(own, BETWEEN, draw.seed)
    return changed

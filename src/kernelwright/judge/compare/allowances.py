"""Allowances for ill-conditioned tasks and for reduced precision, for one output each."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import torch

from kernelwright.judge.compare.expected import FACTOR, LOOSE_SHARE, SPREAD, Output
from kernelwright.judge.compare.growth import ULP32
from kernelwright.judge.compare.measures import share_of
from kernelwright.judge.compare.pieces import pieces

FURTHER = 64.0
"""Factor of the second perturbation. Smooth outputs move 64 times farther, a square root at zero 8
times, a jump no farther."""
STEPS = 4.0
"""Numbers that move less than so many times farther in the second perturbation have jumped."""
MANY_JUMPS = 1 / 8
"""Share of the moved numbers: where more of them jumped, how far the others moved is luck."""


def conditioned(
    output: Output, moved: torch.Tensor, further: torch.Tensor, factor: float, *, most: float
) -> Output:
    """Allow the error that the conditioning of the task explains.

    An output may be off by ``factor`` times as far as float64 ``moved`` with the inputs, up to
    ``most``, in as many numbers as moved. ``further`` is the result of the second perturbation.
    Where few numbers moved, or they jumped, the allowance stays as it is: those numbers are asked
    about one by one.
    """
    if not output.is_float:
        return output
    allowed, beyond = output.allowed, output.beyond
    moves = partial(_moves, output, moved, further, least=output.sound / factor)
    wider = min(most, factor * max((float(d.max()) for d in moves()), default=0.0))
    if wider > output.allowed and share_of(moves(), output.allowed / factor) > LOOSE_SHARE:
        allowed = wider
    if wider > output.sound:
        beyond = max(beyond, SPREAD * share_of(moves(), output.sound / factor))
    return replace(output, allowed=allowed, beyond=beyond)


def _moves(
    output: Output, moved: torch.Tensor, further: torch.Tensor, *, least: float
) -> Iterator[torch.Tensor]:
    """Yield how far an output's numbers moved, piece by piece, and zero for those that jumped.
    Yields nothing if some became infinite, or if many that moved by more than ``least`` jumped."""
    exact = output.exact
    pairs = pieces(moved, exact)
    if exact.numel() == 0 or not all(torch.equal(m.isfinite(), e.isfinite()) for m, e in pairs):
        return
    n_moved = n_jumped = 0
    for one, other in zip(output.distances(moved), output.distances(further), strict=True):
        n_moved += int((one > least).sum())
        n_jumped += int(_jumped(one, other, least).sum())
    if n_jumped <= MANY_JUMPS * n_moved:
        for one, other in zip(output.distances(moved), output.distances(further), strict=True):
            yield one.masked_fill(_jumped(one, other, least), 0.0)


def _jumped(one: torch.Tensor, other: torch.Tensor, least: float) -> torch.Tensor:
    """The mask of numbers that moved by more than ``least`` in the first perturbation, and hardly
    farther in the second."""
    return (one > least) & (other < STEPS * one)


def explained(output: Output, lowered: list[torch.Tensor], least: float = 0.0) -> Output:
    """Take a reduced precision as yardstick: ``lowered`` are sound results in it, and ``least`` is
    added to the usual allowance in any case."""
    if not output.is_float:
        return output
    errors = [output.error_of(one) for one in lowered]
    allowed = max(output.allowed + least, *(FACTOR * error for error in errors))
    error = max(output.error, *errors)
    return replace(output, allowed=allowed, sound=allowed, error=error)


def explained_by_rounding(
    output: Output, found: torch.Tensor, further: torch.Tensor, *, most: float
) -> Output:
    """Allow the errors that the rounding of the reference's operators causes.

    In ``found`` every operator rounded as in float32, in ``further`` FURTHER times as much. An
    output may be off as far, in as many numbers, up to ``most``; a float64 output by as much less
    as float64 rounds less; where numbers jumped, the allowance stays. Where that exceeds the
    results themselves, nobody can say what is right; nor, without a ``most``, if such a run is
    itself wrong in MANY_JUMPS of an output.
    """
    if not output.is_float:
        return output
    times = min(1.0, torch.finfo(output.own.dtype).eps / 2 / ULP32)
    sound = output.sound / FACTOR / times
    moves = partial(_moves, output, found, further, least=sound)
    error = FACTOR * times * max((float(d.max()) for d in moves()), default=0.0)
    allowed = max(output.allowed, min(error if error <= 1.0 else math.inf, most))
    beyond = max(output.beyond, SPREAD * share_of(moves(), sound))
    output = replace(output, allowed=allowed, beyond=beyond)
    if math.isinf(most):
        far = (d.nan_to_num(0.0, 0.0, 0.0) for d in output.distances(found))
        if share_of(far, output.allowed) > MANY_JUMPS:
            output = replace(output, allowed=math.inf, beyond=1.0)
    return output

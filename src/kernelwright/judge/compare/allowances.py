"""Allowances for ill-conditioned tasks and for reduced precision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import torch

from kernelwright.judge.compare.growth import ULP32
from kernelwright.judge.compare.measures import distances, error_of, share_of
from kernelwright.judge.compare.outputs import (
    FACTOR,
    LOOSE_SHARE,
    NARROW_ERROR,
    SPREAD,
    USELESS,
    Expected,
)
from kernelwright.judge.compare.pieces import pieces

FURTHER = 64.0
"""Factor of the second perturbation. Smooth outputs move 64 times farther, a square root at zero 8
times, a jump no farther."""
STEPS = 4.0
"""Numbers that move less than so many times farther in the second perturbation have jumped."""
MANY_JUMPS = 1 / 8
"""Share of the moved numbers: where more of them jumped, how far the others moved is luck."""
Moving = Callable[[float], tuple[list[torch.Tensor] | None, list[float]]]
"""The float64 results, or None, when inputs move by so many ulp; and how many times farther than
one ulp moves it each output may be off."""


def conditioning(moved: torch.Tensor, expected: Expected, number: int) -> float:
    """How far a float64 result moves when the inputs move by one unit in the last place."""
    exact = expected.exact[number]
    both = pieces(moved, exact)
    if not exact.is_floating_point() or not all(
        torch.equal(m.isfinite(), e.isfinite()) for m, e in both
    ):
        return 0.0
    return error_of(moved, exact, expected.finite[number], expected.scales[number])


def conditioned(
    moved: list[torch.Tensor],
    further: list[torch.Tensor],
    expected: Expected,
    factors: list[float],
    *,
    most: float,
) -> Expected:
    """``expected`` with the error allowed that the conditioning of the task explains.

    Each output may be off by its factor times as far as float64 ``moved`` with the inputs, up to
    ``most``, in as many numbers as moved. ``further`` are the results of the second perturbation.
    Where few numbers moved, or they jumped, allowances stay as they are: those numbers are asked
    about one by one.
    """
    allowed, beyond = list(expected.allowed), list(expected.beyond)
    for number, (*both, factor) in enumerate(zip(moved, further, factors, strict=True)):
        usual, sound = allowed[number], expected.sound[number]
        if not expected.exact[number].is_floating_point():
            continue
        moves = partial(_moves, *both, expected, number, least=sound / factor)
        wider = min(most, factor * max((float(d.max()) for d in moves()), default=0.0))
        if wider > usual and share_of(moves(), usual / factor) > LOOSE_SHARE:
            allowed[number] = wider
        if wider > sound:
            beyond[number] = max(beyond[number], SPREAD * share_of(moves(), sound / factor))
    return replace(expected, allowed=allowed, beyond=beyond, is_conditioned=True)


def _moves(
    moved: torch.Tensor, further: torch.Tensor, expected: Expected, number: int, *, least: float
) -> Iterator[torch.Tensor]:
    """How far an output's numbers moved, piece by piece, and zero for those that jumped. Yields
    nothing if some became infinite, or if many that moved by more than ``least`` jumped."""
    exact = expected.exact[number]
    told = exact, expected.finite[number], expected.scales[number]
    pairs = pieces(moved, exact)
    if exact.numel() == 0 or not all(torch.equal(m.isfinite(), e.isfinite()) for m, e in pairs):
        return
    n_moved, n_jumped = _counts(moved, further, expected, number, least)
    if n_jumped <= MANY_JUMPS * n_moved:
        both = zip(distances(moved, *told), distances(further, *told), strict=True)
        for one, other in both:
            yield one.masked_fill(_jumped(one, other, least), 0.0)


def lie_on_borders(by: Moving, expected: Expected, narrow: torch.dtype) -> bool:
    """Whether much of an output jumps as far as the reference is off: then its own precision
    decides on which side of borders inputs lie. Narrow types round anyhow, and do not count."""
    if expected.reference_error <= NARROW_ERROR or torch.finfo(narrow).bits < 32:
        return False
    (moved, _), (further, _) = by(1.0), by(FURTHER)
    if moved is None or further is None:
        return False
    least = expected.reference_error * MANY_JUMPS
    for number, (*both, exact) in enumerate(zip(moved, further, expected.exact, strict=True)):
        if exact.is_floating_point():
            _, n_jumped = _counts(*both, expected, number, least)
            if n_jumped > MANY_JUMPS * exact.numel():
                return True
    return False


def useful_part(expected: Expected) -> Expected | None:
    """``expected`` without the outputs in which the reference is off by more than USELESS, as the
    mean of normalised numbers is, and without integers, which may depend on those. None if no
    output is left."""
    are_left = [
        exact.is_floating_point() and error <= USELESS
        for exact, error in zip(expected.exact, expected.errors, strict=True)
    ]
    if not any(are_left):
        return None
    allowed = [a if one else math.inf for one, a in zip(are_left, expected.allowed, strict=True)]
    beyond = [b if one else 1.0 for one, b in zip(are_left, expected.beyond, strict=True)]
    moved = [m and one for one, m in zip(are_left, expected.moved, strict=True)]
    loose = [
        None if exact.is_floating_point() else torch.ones_like(exact, dtype=torch.bool)
        for exact in expected.exact
    ]
    error = max(e for one, e in zip(are_left, expected.errors, strict=True) if one)
    of_all = {"allowed": allowed, "beyond": beyond, "moved": moved, "loose": loose}
    return replace(expected, reference_error=error, **of_all)


def _counts(
    moved: torch.Tensor, further: torch.Tensor, expected: Expected, number: int, least: float
) -> tuple[int, int]:
    """How many numbers moved by more than ``least``, and how many of those jumped."""
    told = expected.exact[number], expected.finite[number], expected.scales[number]
    n_moved = n_jumped = 0
    for one, other in zip(distances(moved, *told), distances(further, *told), strict=True):
        n_moved += int((one > least).sum())
        n_jumped += int(_jumped(one, other, least).sum())
    return n_moved, n_jumped


def _jumped(one: torch.Tensor, other: torch.Tensor, least: float) -> torch.Tensor:
    """Where numbers moved by more than ``least`` in the first perturbation, and hardly farther in
    the second."""
    return (one > least) & (other < STEPS * one)


def explained(
    expected: Expected, lowered: list[list[torch.Tensor]], least: float = 0.0
) -> Expected:
    """``expected`` with a reduced precision as yardstick: ``lowered`` are sound results in it, and
    ``least`` is added to the usual allowance in any case."""
    errors, allowed = [expected.reference_error], []
    for number, usual in enumerate(expected.allowed):
        exact, scale = expected.exact[number], expected.scales[number]
        if exact.is_floating_point():
            of = [error_of(one[number], exact, expected.finite[number], scale) for one in lowered]
            usual = max(usual, usual + least, *(FACTOR * error for error in of))
            errors += of
        allowed.append(usual)
    error = max(errors)
    return replace(expected, allowed=allowed, sound=allowed, reference_error=error, moved=[])


def explained_by_rounding(
    expected: Expected, found: list[torch.Tensor], further: list[torch.Tensor], *, most: float
) -> Expected:
    """``expected`` with the errors allowed that the rounding of the reference's operators causes.

    In ``found`` every operator rounded as in float32, in ``further`` FURTHER times as much. Each
    output may be off as far, in as many numbers, up to ``most``; float64 outputs by as much less as
    float64 rounds less; where numbers jumped, allowances stay. Where that exceeds the results
    themselves, nobody can say what is right; nor, without a ``most``, if such a run is itself wrong
    in MANY_JUMPS of an output.
    """
    allowed, beyond, moved = list(expected.allowed), list(expected.beyond), list(expected.moved)
    for number, both in enumerate(zip(found, further, strict=True)):
        if not expected.exact[number].is_floating_point():
            continue
        if not (moved and moved[number]):
            times = min(1.0, torch.finfo(expected.own[number].dtype).eps / 2 / ULP32)
            sound = expected.sound[number] / FACTOR / times
            moves = partial(_moves, *both, expected, number, least=sound)
            error = FACTOR * times * max((float(d.max()) for d in moves()), default=0.0)
            allowed[number] = max(allowed[number], min(error if error <= 1.0 else math.inf, most))
            beyond[number] = max(beyond[number], SPREAD * share_of(moves(), sound))
        if math.isinf(most):
            told = expected.exact[number], expected.finite[number], expected.scales[number]
            far = (d.nan_to_num(0.0, 0.0, 0.0) for d in distances(both[0], *told))
            if share_of(far, allowed[number]) > MANY_JUMPS:
                allowed[number], beyond[number] = math.inf, 1.0
                if moved:
                    moved[number] = False
    return replace(expected, allowed=allowed, beyond=beyond, moved=moved)

"""Errors that are allowed beyond the usual: of ill-conditioned tasks, and in less precision."""

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
"""Times as far inputs are moved a second time: what is smooth moves as many times farther, the root
of what is zero eight times, and what jumps off a border that inputs lie on no farther."""
STEPS = 4.0
"""Times as far as before, or less, move numbers that jumped."""
MANY_JUMPS = 1 / 8
"""Of the numbers that moved: where more jumped, by how much the others did is luck."""
Moving = Callable[[float], tuple[list[torch.Tensor] | None, list[float]]]
"""The float64 results, None if there are none, where inputs move by so many units in the last
place; and by how many times the effect of one each may be off."""


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
    """``expected`` where each output may be off by its factor times as far as float64 ``moved``
    with the inputs, but by ``most`` at most, in as many numbers; ``further``: where they were moved
    FURTHER. As usual where few numbers moved, or they jumped: those are asked about singly."""
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
    """How far an output's numbers moved, piece by piece, zero where they jumped; nothing where
    they became infinite, or many of those that moved by more than ``least`` jumped."""
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
    """Whether much of an output jumps as far as the reference is off: its own precision decides on
    which sides of borders its inputs lie. A ``narrow`` type among its own rounds anyhow."""
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
    """``expected`` without the outputs of which the reference is off by more than USELESS, as the
    mean of what has been normalised is, and without whole numbers, which may hang on those: beside
    them others are what they are. None where no other is left."""
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
    """Where numbers moved by more than ``least`` at first, by ``one``, and then hardly farther."""
    return (one > least) & (other < STEPS * one)


def explained(
    expected: Expected, lowered: list[list[torch.Tensor]], least: float = 0.0
) -> Expected:
    """``expected`` with a reduced precision as yardstick: ``lowered`` are sound results in it, and
    ``least`` is what it may be off by more than usual in any case."""
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
    """``expected`` where each output may be off as far as ``found``, in which every operator
    rounded as in float32, and in as many numbers, but by ``most`` at most, and as usual where they
    jumped; in float64 by as much less as it rounds less. ``further``: where they rounded FURTHER.
    Where that is more than all that is there nobody can say what is right; nor, where there is no
    ``most``, if a run that rounds so is itself wrong in MANY_JUMPS of an output.
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

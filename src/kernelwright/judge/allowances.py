"""Errors that are allowed beyond the usual: of ill-conditioned tasks, and in less precision."""

from __future__ import annotations

from dataclasses import replace

import torch

from kernelwright.judge.compare import FACTOR, LOOSE_SHARE, SPREAD, Expected
from kernelwright.judge.measures import error_of, share_beyond
from kernelwright.judge.pieces import pieces


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
    moved: list[torch.Tensor], expected: Expected, factors: list[float], *, most: float
) -> Expected:
    """``expected`` where each output may be off by its factor times as far as float64 ``moved``
    with the inputs, as for ``conditioning``, but by ``most`` at most, in as many numbers; as usual
    where few of them moved: they jumped, and are asked about singly."""
    allowed, beyond = list(expected.allowed), list(expected.beyond)
    for number, (one, factor) in enumerate(zip(moved, factors, strict=True)):
        usual, sound = allowed[number], expected.sound[number]
        told = expected.exact[number], expected.finite[number], expected.scales[number]
        wider = min(most, factor * conditioning(one, expected, number))
        if wider > usual and share_beyond(one, *told, usual / factor) > LOOSE_SHARE:
            allowed[number] = wider
        if wider > sound:
            share = SPREAD * share_beyond(one, *told, sound / factor)
            beyond[number] = max(beyond[number], share)
    return replace(expected, allowed=allowed, beyond=beyond, is_conditioned=True)


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
    return replace(expected, allowed=allowed, sound=allowed, reference_error=max(errors))

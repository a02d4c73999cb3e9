"""Allowances that cost runs of the reference, and so are worked out only before a refusal."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.judge.checks import OWN_WEIGHTS, Draw
from kernelwright.judge.compare import allowances
from kernelwright.judge.compare.expected import LOOSE_SHARE, USELESS, Expected
from kernelwright.judge.compare.operators import Rounding
from kernelwright.judge.reference import nudges
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.layout import map_tensors

N_ROUNDINGS = 8
"""Runs in which every operator rounds up or down by chance, in every second one each number for
itself: one alone misses most of what they can do together."""


def conditioned(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """Allow what an ill-conditioned task needs: float64 results move with the inputs' last digits.

    On inputs beyond the task's own, and for integer results, single numbers are asked about too.
    """
    if expected.is_conditioned:
        return expected
    wider = _moved_by_rounding(oracle, draw, arguments, expected)
    if wider is None:
        return expected
    has_integers = not all(one.is_float for one in wider.outputs)
    if has_integers or _may_move_zeros(oracle, draw):
        wider = _nudged(oracle, draw, arguments, wider)
    return _kept(oracle, draw, wider)


def _moved_by_rounding(
    oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected
) -> Expected | None:
    """Allow as much as results move with the inputs' last digits; None if that is not known."""
    moved, factors = oracle.expectations.moved(draw, arguments, expected, 1.0)
    further, _ = oracle.expectations.moved(draw, arguments, expected, allowances.FURTHER)
    if moved is None:
        return None
    is_own = draw.check.is_own
    # Results may cancel with the weights that initialisers leave, as the logarithm of a
    # rotation's determinant does: other weights show errors then.
    most = USELESS if is_own and draw.check is not OWN_WEIGHTS else math.inf
    further = further or [torch.full_like(one, math.nan) for one in moved]  # shows no jumps
    rows = zip(expected.outputs, moved, further, factors, strict=True)
    outputs = tuple(allowances.conditioned(*row, most=most) for row in rows)
    return replace(
        expected,
        outputs=outputs,
        is_conditioned=True,
        loose_share=LOOSE_SHARE if is_own else 1.0,
    )


def jumping(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """Note how far each number jumps, for results of which few numbers are wrong."""
    if all(one.jumps is not None for one in expected.outputs if one.is_float):
        return expected
    return _kept(oracle, draw, _nudged(oracle, draw, arguments, expected))


def _nudged(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    runs = _both_precisions(oracle, draw)
    zeros_too = _may_move_zeros(oracle, draw)
    return nudges.nudged(runs, arguments, expected, zeros_too=zeros_too)


def by_operators(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """Allow what the rounding of the reference's operators explains.

    That is where numbers cancel between operators (one minus a share of sums, a mean of differences
    of logarithms), and integers that rounding decides, as the order of scores that saturate. What
    rounds to types narrower than float32 shows that in its own error already.
    """
    tolerance, profile = draw.check.tolerance, oracle.profile
    is_known = expected.is_explained or bool(profile.precision)
    if is_known or nudges.are_narrow(arguments):
        return expected
    wide = map_tensors(nudges.widen, arguments)
    most = USELESS if draw.check.is_own else math.inf
    for seed in range(N_ROUNDINGS):
        rounding = partial(Rounding, seed, alike=seed % 2 == 0, equal_terms=tolerance.equal_terms)

        def rounded(times: float, rounding: Any = rounding) -> list[torch.Tensor] | None:
            watch = partial(rounding, times=times)
            return oracle.forward.in_float64(draw.weights, wide, watch=watch)

        expected = _explained(rounded, expected, most)
    return _kept(oracle, draw, replace(expected, is_explained=True))


def _explained(
    rounded: Callable[[float], list[torch.Tensor] | None], expected: Expected, most: float
) -> Expected:
    """Allow what one run explains in which operators round; its results do not outlive this."""
    found = rounded(1.0)
    further = found and rounded(allowances.FURTHER)
    if not (found and further):
        return expected
    rows = zip(expected.outputs, found, further, strict=True)
    outputs = [allowances.explained_by_rounding(*row, most=most) for row in rows]
    expected = nudges.looser(replace(expected, outputs=tuple(outputs)), found)
    return nudges.looser(expected, further)


def _kept(oracle: Oracle, draw: Draw, expected: Expected) -> Expected:
    oracle.expectations.keep(draw, expected)
    return expected


def _may_move_zeros(oracle: Oracle, draw: Draw) -> bool:
    """Whether zeros move as other numbers do: on inputs beyond the task's own, where they may tie,
    unless they are zeros that the reference asks for."""
    are_meant = draw.check.tolerance.zeros_are_meant and oracle.profile.asks_for_zeros
    return not (draw.check.is_own or are_meant)


def _both_precisions(oracle: Oracle, draw: Draw) -> Sequence[nudges.Run]:
    """The reference in float64, and in its own precision."""
    forward = oracle.forward
    return [partial(forward.in_float64, draw.weights), partial(forward.run, weights=draw.weights)]

"""Allowances that cost runs of the reference, and so are worked out only before a refusal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.judge.checks import OWN_WEIGHTS, Draw
from kernelwright.judge.compare import allowances
from kernelwright.judge.compare.operators import Rounding
from kernelwright.judge.compare.outputs import LOOSE_SHARE, USELESS, Expected
from kernelwright.judge.reference import nudges
from kernelwright.judge.reference.oracle import Oracle
from kernelwright.judge.sandbox.layout import map_tensors

N_ROUNDINGS = 8
"""Runs in which every operator rounds up or down by chance, in every second one each number for
itself: one alone misses most of what they can do together."""


def conditioned(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with the allowance that an ill-conditioned task needs."""
    if expected.is_conditioned:
        return expected
    moved, factors = oracle.expectations.moved(draw, arguments, expected, 1.0)
    further, _ = oracle.expectations.moved(draw, arguments, expected, allowances.FURTHER)
    if moved is None:
        return expected
    is_own = draw.check.is_own
    # As initialisers leave them results may cancel, as the logarithm of a rotation's
    # determinant: other weights show those errors.
    most = USELESS if is_own and draw.check is not OWN_WEIGHTS else math.inf
    further = further or [torch.full_like(one, math.nan) for one in moved]  # shows no jumps
    wider = allowances.conditioned(moved, further, expected, factors, most=most)
    run, _ = runs = _both_precisions(oracle, draw)
    wider = nudges.pooled(runs, arguments, wider)
    zeros_too = _may_move_zeros(oracle, draw)
    wider = nudges.tied(run, arguments, wider) if zeros_too else wider
    loose = expected.loose or nudges.loose_as_computed(
        runs, arguments, expected, zeros_too=zeros_too
    )
    wider = replace(wider, loose=loose, loose_share=LOOSE_SHARE if is_own else 1.0)
    return _kept(oracle, draw, wider)


def jumping(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with how far each number jumps, for results of which few numbers are wrong."""
    if expected.jumps:
        return expected
    jumps = nudges.jumps(
        _both_precisions(oracle, draw),
        arguments,
        expected,
        zeros_too=_may_move_zeros(oracle, draw),
    )
    return _kept(oracle, draw, replace(expected, jumps=jumps))


def by_operators(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with what the rounding of the reference's operators explains.

    That is where numbers cancel between operators (one minus a share of sums, a mean of differences
    of logarithms), and integers that rounding decides, as the order of scores that saturate. What
    rounds to types narrower than float32 shows that in its own error already.
    """
    tolerance, profile = draw.check.tolerance, oracle.profile
    is_known = expected.is_explained or bool(profile.precision)
    if is_known or nudges.are_narrow(arguments):
        return expected
    wide = map_tensors(nudges.widen, arguments)
    is_own = draw.check.is_own
    most = USELESS if is_own else math.inf
    for seed in range(N_ROUNDINGS):
        rounding = partial(Rounding, seed, alike=seed % 2 == 0, equal_terms=tolerance.equal_terms)
        found = [
            oracle.forward.in_float64(draw.weights, wide, watch=partial(rounding, times=times))
            for times in (1.0, allowances.FURTHER)
        ]
        if all(found):
            expected = allowances.explained_by_rounding(expected, *found, most=most)
            if expected.loose:
                loose = nudges.looser(expected.loose, found, expected.own, by_row=not is_own)
                expected = replace(expected, loose=loose)
    return _kept(oracle, draw, replace(expected, is_explained=True))


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

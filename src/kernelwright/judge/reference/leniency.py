"""Allowances that cost runs of the reference, and so are asked for only before a refusal."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from kernelwright.judge.compare import allowances
from kernelwright.judge.compare.operators import Rounding
from kernelwright.judge.compare.outputs import LOOSE_SHARE, USELESS, Expected
from kernelwright.judge.machine.layout import map_tensors
from kernelwright.judge.perturb.distributions import EMPTY, EQUAL_TERMS, MATCHED
from kernelwright.judge.perturb.draws import OWN_WEIGHTS, Draw
from kernelwright.judge.reference import nudges
from kernelwright.judge.reference.oracle import Oracle

N_ROUNDINGS = 8
"""Runs in which every operator rounds up or down by chance, in every other one each number for
itself: one alone misses most of what they can do together."""


def conditioned(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with the allowance that an ill-conditioned task needs."""
    if expected.is_conditioned:
        return expected
    moved, factors = oracle.moved(draw, arguments, expected, 1.0)
    further, _ = oracle.moved(draw, arguments, expected, allowances.FURTHER)
    if moved is None:
        return expected
    is_own = oracle.is_own(draw)
    # As initialisers leave them results may cancel, as the logarithm of a rotation's
    # determinant: other weights tell of them.
    is_bound = is_own and draw.distribution != OWN_WEIGHTS
    most = USELESS if is_bound else math.inf
    further = further or [torch.full_like(one, math.nan) for one in moved]  # tells of no jumps
    wider = allowances.conditioned(moved, further, expected, factors, most=most)
    run, _ = runs = _both(oracle, draw)
    wider = nudges.pooled(runs, arguments, wider)
    zeros_too = _may_move_zeros(oracle, draw)
    wider = nudges.tied(run, arguments, wider) if zeros_too else wider
    how = {"zeros_too": zeros_too}
    loose = expected.loose or nudges.loose_as_computed(runs, arguments, expected, **how)
    wider = replace(wider, loose=loose, loose_share=LOOSE_SHARE if is_own else 1.0)
    return oracle.keep(("expected", draw), wider)


def jumping(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with how far each number jumps, which is asked for where few are wrong."""
    if expected.jumps:
        return expected
    how = {"zeros_too": _may_move_zeros(oracle, draw)}
    jumps = nudges.jumps(_both(oracle, draw), arguments, expected, **how)
    return oracle.keep(("expected", draw), replace(expected, jumps=jumps))


def by_operators(oracle: Oracle, draw: Draw, arguments: list[Any], expected: Expected) -> Expected:
    """``expected`` with what its operators' own rounding explains, where numbers cancel between
    them: one less a share of sums, a mean of differences of logarithms; and which whole numbers it
    decides, as the order of scores that saturate. What rounds to types narrower than float32 shows
    that in its own error."""
    is_coarse = draw.distribution == MATCHED  # what cancels is allowed for there
    if expected.is_explained or is_coarse or oracle.precision or nudges.are_narrow(arguments):
        return expected
    wide = map_tensors(nudges.widen, arguments)
    most = USELESS if oracle.is_own(draw) else math.inf
    is_equal = draw.distribution in EQUAL_TERMS
    for seed in range(N_ROUNDINGS):
        how = {"alike": seed % 2 == 0, "equal_terms": is_equal}
        watches = [partial(Rounding, seed, times=n, **how) for n in (1.0, allowances.FURTHER)]
        found = [oracle.in_float64(draw.weights, wide, watch=watch) for watch in watches]
        if all(found):
            expected = allowances.explained_by_rounding(expected, *found, most=most)
            if expected.loose:
                by_row = not oracle.is_own(draw)
                loose = nudges.looser(expected.loose, found, expected.own, by_row=by_row)
                expected = replace(expected, loose=loose)
    return oracle.keep(("expected", draw), replace(expected, is_explained=True))


def _may_move_zeros(oracle: Oracle, draw: Draw) -> bool:
    """Whether zeros are moved as other numbers are: on inputs beyond the task's own, where they
    may tie, but for slices of zeros that the reference asks for."""
    is_asked = draw.distribution == EMPTY and EMPTY in oracle.asked
    return not (oracle.is_own(draw) or is_asked)


def _both(oracle: Oracle, draw: Draw) -> list[nudges.Run]:
    """The reference in float64, and in its own precision."""
    return [partial(oracle.in_float64, draw.weights), partial(oracle.run, weights=draw.weights)]

"""Sets of weights: the module's own, the judge's usual ones, and some as training may leave them.

Large weights show what is right for small numbers only, as a softmax without its maximum: behind a
norm no input is large. In others a few numbers have changed, or single ones are small.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, partial
from types import MappingProxyType
from typing import Any

import torch

from kernelwright.judge.compare.measures import furthest, is_one_number
from kernelwright.judge.compare.outputs import USELESS
from kernelwright.judge.perturb.buffers import parts_of, with_other_buffers
from kernelwright.judge.perturb.persistent import constants, sorted_ones
from kernelwright.judge.perturb.weights import (
    SMALL_FACTOR,
    emboldened,
    has_both_signs,
    is_borne,
    randomised,
    sort_again,
)
from kernelwright.judge.refusal import FAILURES
from kernelwright.judge.sandbox.layout import bytes_of
from kernelwright.loaders.copies import copied
from kernelwright.loaders.plain import flatten, weights_of

USUAL, AS_MADE = "usual", "as made"
"""Weights drawn by the judge, which all calls have but those of one check; and the module's own.
A candidate could find that a branch is scaled by 1e-6, and leave it out as long as it is."""
TOUCHED = "touched"
"""The usual weights with some numbers of each parameter doubled."""
SMALL = "small"
"""The usual weights with small ones among parameters of one value and one sign."""
LARGE = "large"
"""Weights larger than any initialiser draws."""
FACTORS = (16.0, 4.0)
"""Largest factors of large weights, tried in this order."""
N_OUTLIERS, FEWEST = 8, 256
"""Single numbers that are larger still by the same factor, in matrices of at least FEWEST
numbers."""
TOUCHED_SHARE = 1 / 64
"""Share of each parameter's numbers that are doubled: whoever samples a few numbers sees no change,
but results show it."""
MOST_TRIES = 9
"""Runs of the reference that find out which large weights it accepts, if not all."""
Run = Callable[[torch.nn.Module], Any]


def sets_of_weights(
    module: torch.nn.Module,
    again: Callable[[], torch.nn.Module],
    seed: int,
    runs: Sequence[Run],
    has_room: Callable[[int], bool],
) -> dict[str, torch.nn.Module]:
    """The module with its own weights and with others, by name, the usual ones first.

    ``again`` makes a new module; further sets are made while there is room for their bytes. For
    ``runs`` see ``enlarged``.
    """
    again = cache(again)  # at most one is made
    kept, ordered = constants(module, again), sorted_ones(module, again)
    other = with_other_buffers(module, again, partial(is_borne, runs[0], instead_of=module))
    other = randomised(other, seed, runs[0], kept, ordered)
    sets = {USUAL: other, AS_MADE: module}
    n_bytes = bytes_of(weights_of(other))
    if other is not module and has_room(n_bytes):
        large = enlarged(other, seed + 1, *runs, kept, ordered)
        if has_room(2 * n_bytes):  # right after the usual ones, which a candidate then knows
            sets |= touched(other, seed + 2, runs[0], {*kept, *ordered})
        if has_room(3 * n_bytes):
            sets |= with_small_numbers(other, module, *runs, kept)
        sets |= large
    return sets


def enlarged(
    module: torch.nn.Module,
    seed: int,
    run: Run,
    run_moved: Run,
    kept: Collection[str] = (),
    ordered: Mapping[str, bool] = MappingProxyType({}),
) -> dict[str, torch.nn.Module]:
    """A copy with large weights except those to be ``kept``, by its name among sets of weights.

    They are the largest with which the results of ``run`` are finite, and near those of
    ``run_moved``, whose inputs are moved in their last digits. Empty if there are no such.
    """
    is_telling = _telling(run, run_moved, module)
    for factor in FACTORS:
        twin = copied(module)
        enlarge_weights(twin, seed, factor, kept, ordered)
        if is_telling(twin):
            return {LARGE: twin}
    large = weights_of(twin)
    twin = emboldened(copied(module), large, is_telling, most_tries=MOST_TRIES)
    own, others = weights_of(module), weights_of(twin)
    is_same = all(torch.equal(own[name], others[name]) for name in own)
    return {} if is_same else {LARGE: twin}


@torch.no_grad()
def with_small_numbers(
    module: torch.nn.Module,
    own: torch.nn.Module,
    run: Run,
    run_moved: Run,
    kept: Collection[str] = (),
) -> dict[str, torch.nn.Module]:
    """A copy, by its name among sets of weights, with small numbers: parameters that are one number
    in the ``own`` module, and have one sign in this one, times SMALL_FACTOR.

    None where there are no such, or where results would say nothing. ``run`` and ``run_moved`` as
    in ``enlarged``.
    """
    twin, given = copied(module), dict(own.named_parameters())
    small = [
        parameter
        for name, parameter in twin.named_parameters()
        if name not in kept
        and parts_of(parameter)
        and parameter.numel()
        and is_one_number(given[name])
        and not (parameter.is_complex() or has_both_signs(parameter))
    ]
    if not small:
        return {}
    for parameter in small:
        parameter.mul_(SMALL_FACTOR)
    return {SMALL: twin} if _telling(run, run_moved, module)(twin) else {}


def _telling(
    run: Run, run_moved: Run, instead_of: torch.nn.Module
) -> Callable[[torch.nn.Module], bool]:
    """``_is_telling`` for copies of a module; no copy is, if the module itself fails."""
    told: list[bool] = []
    with contextlib.suppress(*FAILURES):
        told = [distance < USELESS for distance in _distances(run, run_moved, instead_of)]
    return partial(_is_telling, run, run_moved, instead_of, told)


def _is_telling(
    run: Run,
    run_moved: Run,
    instead_of: torch.nn.Module,
    told: Sequence[bool],
    twin: torch.nn.Module,
) -> bool:
    """Whether the results with a copy's weights are well conditioned enough to compare with;
    results that are not so with the usual weights either, as zeros but for rounding, do not
    count."""
    if not (any(told) and is_borne(run, twin, instead_of=instead_of)):
        return False
    try:
        found = zip(told, _distances(run, run_moved, twin), strict=True)
        return all(distance < USELESS for one, distance in found if one)
    except FAILURES:
        return False


def _distances(run: Run, run_moved: Run, module: torch.nn.Module) -> list[float]:
    """How far each result moves when inputs move in their last digits."""
    pairs = zip(flatten(run(module)), flatten(run_moved(module)), strict=True)
    return [furthest([one], [other]) for one, other in pairs]


@torch.no_grad()
def enlarge_weights(
    module: torch.nn.Module,
    seed: int,
    factor: float,
    kept: Collection[str] = (),
    ordered: Mapping[str, bool] = MappingProxyType({}),
) -> None:
    """Multiply every slice of every parameter by a random number between one and ``factor``, and
    parameters of one number by ``factor``.

    A few numbers of each matrix become larger than all others. Parameters of both signs are
    negated, so that no number has the same sign in all sets of weights. Zeros, buffers and
    parameters to be ``kept`` stay; ``ordered`` ones are sorted again.
    """
    draw = torch.Generator().manual_seed(seed)
    for name, parameter in module.named_parameters():
        if name in kept or not parts_of(parameter) or parameter.numel() == 0:
            continue
        slices = parameter.shape[:1] + (1,) * (parameter.dim() - 1)
        powers = torch.rand(slices, generator=draw).clamp(min=float(parameter.numel() == 1))
        parameter.mul_((factor**powers).to(parameter))
        if has_both_signs(parameter):
            parameter.neg_()
        if parameter.dim() > 1 and parameter.numel() >= FEWEST:
            places = torch.randint(parameter.numel(), (N_OUTLIERS,), generator=draw)
            index = torch.unravel_index(places.to(parameter.device), parameter.shape)
            parameter[index] = factor * parameter.abs().max() * parameter[index].sgn()
        if name in ordered:
            sort_again(parameter, ordered[name])


@torch.no_grad()
def touched(
    module: torch.nn.Module, seed: int, run: Run, kept: Collection[str] = ()
) -> dict[str, torch.nn.Module]:
    """A copy, by its name among sets of weights, in which a share of each parameter's numbers, at
    least one, is doubled; empty if the reference does not accept it.

    Parameters to be ``kept``, and those of one number, stay.
    """
    draw = torch.Generator().manual_seed(seed)
    twin = copied(module)
    for name, parameter in twin.named_parameters():
        if name in kept or not parts_of(parameter) or parameter.numel() < 2:
            continue
        is_touched = torch.rand(parameter.shape, generator=draw) < TOUCHED_SHARE
        is_touched.view(-1)[torch.randint(parameter.numel(), (), generator=draw)] = True
        parameter.mul_(torch.where(is_touched, 2.0, 1.0).to(parameter))
    own, others = weights_of(module), weights_of(twin)
    is_same = all(torch.equal(own[name], others[name]) for name in own)
    is_meant = not is_same and is_borne(run, twin, instead_of=module)
    return {TOUCHED: twin} if is_meant else {}

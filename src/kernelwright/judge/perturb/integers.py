"""Integers and masks drawn anew from the task's own, such that they stay legal and in order."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import torch

from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.perturb.bounds import in_bounds
from kernelwright.judge.perturb.correlated import in_step
from kernelwright.judge.perturb.distinct import (
    has_distinct_rows,
    has_distinct_tuples,
    with_distinct_tuples,
)
from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.masks import is_scattered, with_both
from kernelwright.judge.perturb.patterns import (
    SHORTEST,
    across,
    falls,
    in_order,
    kept,
    lines_of,
    overlaps,
    rows_are_permutations,
    turned,
)
from kernelwright.judge.sandbox.layout import flat_source, leaves, map_tensors

SKEWED_SHARE = 0.5
ABSENT_SHARE = 1 / 16
"""Share of an integer tensor's distinct numbers, at least one, that then occur nowhere."""
FLIPPED = 0.1
"""Share of the elements that change in a mask that hides nothing, or everything."""
WAYS = APART, ELSEWHERE, TWICE = range(3)
"""Ways to change positions that rise in steps of one: larger steps; another order; or some of them
twice, in order and between the same ends. A table with as many rows accepts no larger ones."""


def resample_integers(
    arguments: list[Any],
    is_fixed: list[bool],
    seed: int,
    way: int = APART,
    others: Sequence[Any] = (),
) -> list[Any]:
    """``arguments`` with integer tensors drawn anew from their own numbers: those that are fixed,
    or all of them if none is.

    With ``others``, another draw of the task, numbers come from both draws and none is taken twice,
    so that the result is like a draw of the task. Sorted rows stay sorted and keep their ends,
    unless all numbers are distinct; numbers that occur once, in the tensor or in each row, still
    do. Python integers that bound a tensor still do. Positions are changed in the ``way`` of WAYS.
    """
    rows, more = iter(is_fixed), iter(leaves(others))

    def change(x: torch.Tensor) -> torch.Tensor:
        other = next(more, x.new_empty(0))
        is_meant = next(rows) if any(is_fixed) else is_whole(x) and x.numel() > 0
        if not is_meant:
            return x
        draw = torch.Generator(x.device).manual_seed(seed)
        if overlaps(x):
            return _resampled(flat_source(x), draw, way, x.new_empty(0)).as_strided(
                x.shape, x.stride()
            )
        return laid_out(_resampled(x, draw, way, other), x)

    return in_bounds(arguments, in_step(arguments, map_tensors(change, arguments)))


def skew_integers(arguments: list[Any], seed: int, *, are_some_absent: bool = False) -> list[Any]:
    """``arguments`` with one number in half of the places of each integer tensor, as when one
    expert gets most tokens, or one node most edges; in a mask the rarer one.

    Sorted rows stay sorted between their ends; where no row, or no tuple, holds a number twice, the
    number is in as many of them as possible. With ``are_some_absent`` other numbers occur nowhere,
    as an expert without tokens.
    """
    numbers = itertools.count(seed)

    def change(x: torch.Tensor) -> torch.Tensor:
        if not can_skew(x):
            return x
        draw = torch.Generator(x.device).manual_seed(next(numbers))
        return laid_out(_skewed(x, draw, are_some_absent), x)

    return in_bounds(arguments, in_step(arguments, map_tensors(change, arguments)))


def can_skew(x: torch.Tensor) -> bool:
    """Whether numbers repeat in an integer tensor, or it is a mask without a form."""
    if not is_whole(x) or x.numel() < 2 or overlaps(x):
        return False
    n_values = x.unique().numel()
    if n_values == 2:
        return is_scattered(x)
    is_drawn = 2 < n_values < x.numel()
    return is_drawn and not (x.dim() > 1 and rows_are_permutations(x))


def _skewed(x: torch.Tensor, draw: torch.Generator, are_some_absent: bool) -> torch.Tensor:
    values, counts = x.unique(return_counts=True)
    is_hit = torch.rand(x.shape, generator=draw, device=x.device) < SKEWED_SHARE
    if len(values) == 2:
        return kept(x, with_both(x, torch.where(is_hit, values[counts.argmin()], x)))
    chosen = x.flatten()[torch.randint(x.numel(), (), generator=draw, device=x.device)]
    if not has_distinct_rows(x):
        if are_some_absent:
            is_hit |= _absent(x, values[values != chosen], draw)
        found = kept(x, _once(x, torch.where(is_hit, chosen, x)))
        return _rising(x, _with_ends(x, found))
    # In one place of half of the rows, where it is not there already.
    order = torch.rand(x.shape, generator=draw, device=x.device)
    is_one = order == order.amax(-1, keepdim=True)
    is_hit = is_one & is_hit[..., :1] & (x != chosen).all(-1, keepdim=True)
    return kept(x, _once(x, torch.where(is_hit, chosen, x)))


def _absent(x: torch.Tensor, numbers: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """A mask of some of the ``numbers``, chosen for each line of tuples: a node may have edges that
    leave it and none that lead to it."""
    n_absent = math.ceil(len(numbers) * ABSENT_SHARE)

    def some(line: torch.Tensor) -> torch.Tensor:
        order = torch.randperm(len(numbers), generator=draw, device=x.device)
        return torch.isin(line, numbers[order[:n_absent]])

    tuples = lines_of(x)
    if tuples is None:
        return some(x)
    return across(x, torch.stack([some(line) for line in tuples.unbind(-1)], -1))


def _rising(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed``, but rows that no longer rise keep their values, if all rows of ``x`` rise."""
    if x.dim() < 2 or not bool((x.diff() > 0).all()):
        return changed
    return torch.where((changed.diff() > 0).all(-1, keepdim=True), changed, x)


def _once(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed`` without repeated tuples, if ``x`` has none."""
    return with_distinct_tuples(x, changed) if has_distinct_tuples(x) else changed


def _resampled(
    x: torch.Tensor, draw: torch.Generator, way: int, other: torch.Tensor
) -> torch.Tensor:
    if not is_whole(x):
        return turned(x, draw)
    n_values = x.unique().numel()
    if n_values == 1:
        return _others_than(x, draw)
    is_once = n_values == x.numel()
    if is_once and falls(x):  # as lengths, the longest first
        return _resampled(x.flip(-1), draw, way, other).flip(-1)
    if in_order(x) and (rows_are_permutations(x) if x.dim() > 1 else is_once):
        is_apart = way == APART or not bool((x.diff() == 1).all())
        return _other_gaps(x, draw) if is_apart else _other_places(x, draw, way)
    numbers = x.flatten()
    if is_once:
        picked = torch.randperm(x.numel(), generator=draw, device=x.device).view(x.shape)
    elif rows_are_permutations(x):
        order = torch.rand(x.shape, generator=draw, device=x.device).argsort(-1)
        return x.gather(-1, order)
    elif has_distinct_rows(x):
        rows = x.flatten(0, -2)
        rows = rows[torch.randint(len(rows), (len(rows),), generator=draw, device=x.device)]
        order = torch.rand(rows.shape, generator=draw, device=x.device).argsort(-1)
        return kept(x, _once(x, rows.gather(-1, order).view(x.shape)))
    elif other.numel():
        numbers = torch.cat([numbers, other.flatten()])
        picked = torch.randperm(len(numbers), generator=draw, device=x.device)[: x.numel()]
        picked = picked.view(x.shape)
    else:
        picked = torch.randint(x.numel(), x.shape, generator=draw, device=x.device)
    changed = kept(x, _once(x, numbers[picked]))
    return changed if is_once else _with_ends(x, changed)


def _with_ends(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed`` with the ends of the rows of ``x``, if those are sorted and not short (a single
    row may be)."""
    is_short = x.shape[-1] < min(x.numel(), SHORTEST)
    if in_order(x) and not is_short:
        changed[..., 0], changed[..., -1] = x[..., 0], x[..., -1]
    return changed


def _other_places(x: torch.Tensor, draw: torch.Generator, way: int) -> torch.Tensor:
    """The positions ``x``, each in another place, or some of them twice."""
    if way == TWICE:
        picked = torch.randint(x.shape[-1], x.shape, generator=draw, device=x.device)
        return _with_ends(x, x.gather(-1, picked.sort(-1).values))
    order = torch.rand(x.shape, generator=draw, device=x.device).argsort(-1)
    return x.gather(-1, torch.empty_like(order).scatter_(-1, order, order.roll(1, -1)))


def _others_than(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Other values for a tensor of one number: some elements of a mask are flipped, also in a mask
    of ones and zeros; lengths and indices are drawn between half the number and the number."""
    most = int(x.flatten()[0])
    if x.dtype != torch.bool and most not in (0, 1):
        if most < 0:
            return x
        end = min(most, torch.iinfo(torch.int64).max - 1) + 1
        found = torch.randint((most + 1) // 2, end, x.shape, generator=draw, device=x.device)
        return found.to(x.dtype)
    if x.dtype != torch.bool and most == 0 and x.is_cuda:
        return x  # beyond a table of one row a GPU's process would end
    is_turned = torch.rand(x.shape, generator=draw, device=x.device) < FLIPPED
    place = torch.randint(x.numel(), (), generator=draw, device=x.device)
    is_turned.view(-1)[place] = True
    return torch.where(is_turned, 1 - most, most).to(x.dtype)


def _other_gaps(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Sorted rows of distinct numbers, with the gaps between them in another order and the same
    ends.

    Where all gaps are equal, some grow at the cost of others; steps of one, as positions have, just
    grow.
    """
    gaps = x.diff()
    order = torch.rand(gaps.shape, generator=draw, device=x.device).argsort(-1)
    step = int(gaps.flatten()[0])
    if not bool((gaps == step).all()):
        others = gaps.gather(-1, order)
    elif step == 1:
        others = gaps + order % 2
    else:
        half = gaps.shape[-1] // 2
        moved = torch.randint(step, (*gaps.shape[:-1], half), generator=draw, device=x.device)
        others = gaps.clone()
        others[..., : 2 * half : 2] += moved
        others[..., 1 : 2 * half : 2] -= moved
        others = others.gather(-1, order)
    first = x[..., :1]
    return torch.cat([first, first + others.cumsum(-1)], -1).to(x.dtype)

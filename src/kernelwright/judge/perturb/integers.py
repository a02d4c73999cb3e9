"""Integers and masks drawn anew from the task's own, so that they stay legal and in order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.perturb.patterns import (
    SHORTEST,
    falls,
    in_order,
    is_mask,
    kept,
    laid_out,
    overlaps,
)
from kernelwright.judge.sandbox.layout import flat_source, leaves, map_tensors

SKEWED_SHARE = 0.5
FLIPPED = 0.1
"""Share of the elements that change in a mask that hides nothing, or everything."""
TURNED, TURNED_SHARE = 16, 0.1
"""Number, or share, of the numbers of a mask that are flipped, by turns: so few that a sample of
one in a thousand shows none, or so many that a mean shows it."""
WAYS = APART, ELSEWHERE = range(2)
"""Ways to change positions that rise in steps of one: larger steps, or another order. A table with
as many rows accepts no larger ones."""
CHANCE = 4.0
"""Number of equal pairs expected of independent draws above which having none is hardly chance."""
SCATTERED = 0.5
"""Changes from number to number of a mask, relative to those of a mask whose elements are
independent, above which it counts as scattered. Bands and blocks have fewer."""


def resample_integers(
    arguments: list[Any],
    is_fixed: Sequence[bool],
    seed: int,
    way: int = APART,
    others: Sequence[Any] = (),
) -> list[Any]:
    """Return ``arguments`` with integer tensors drawn anew from their own numbers: those that are
    fixed, or all of them if none is.

    With ``others``, another draw of the task, numbers come from both draws and none is taken twice,
    so that the result is like a draw of the task. Sorted rows stay sorted and keep their ends,
    unless all numbers are distinct; numbers that occur once, in the tensor or in each row, still
    do. Positions are changed in the ``way`` of WAYS.
    """
    rows, more = iter(is_fixed), iter(leaves(others))
    numbers = {n for n in tree_leaves(arguments) if type(n) is int}

    def change(x: torch.Tensor) -> torch.Tensor:
        other = next(more, x.new_empty(0))
        is_meant = next(rows) if any(is_fixed) else is_whole(x) and x.numel() > 0
        if not is_meant or _are_edges(x):
            return x
        draw = torch.Generator(x.device).manual_seed(seed)
        if overlaps(x):
            found = _resampled(flat_source(x), draw, way, other[:0], numbers)
            return found.as_strided(x.shape, x.stride())
        return laid_out(_resampled(x, draw, way, other, numbers), x)

    return list(map_tensors(change, arguments))


def _resampled(
    x: torch.Tensor, draw: torch.Generator, way: int, other: torch.Tensor, bounds: set[int]
) -> torch.Tensor:
    if not is_whole(x):
        return _turned(x, draw)
    n_values = x.unique().numel()
    if n_values == 1:
        return _others_than(x, draw)
    is_once = n_values == x.numel()
    if is_once and falls(x):  # lengths, the longest first
        return _resampled(x.flip(-1), draw, way, other, bounds).flip(-1)
    if in_order(x) and bool((x.diff() > 0).all()) and _rows_are_alike(x):
        is_apart = way == APART or not bool((x.diff() == 1).all())
        return _other_gaps(x, draw, bounds) if is_apart else _other_places(x, draw)
    if is_once:
        numbers = x.flatten()
        return kept(x, numbers[_shuffled(numbers, draw)].view(x.shape))
    if has_distinct_rows(x):
        rows = x.flatten(0, -2)
        rows = rows[torch.randint(len(rows), (len(rows),), generator=draw, device=x.device)]
        return kept(x, rows.gather(-1, _shuffled(rows, draw)).view(x.shape))
    if other.numel():
        numbers = torch.cat([x.flatten(), other.flatten()])
        picked = _shuffled(numbers, draw)[: x.numel()].view(x.shape)
    else:
        numbers = x.flatten()
        picked = torch.randint(x.numel(), x.shape, generator=draw, device=x.device)
    return _with_ends(x, kept(x, numbers[picked]))


def _rows_are_alike(x: torch.Tensor) -> bool:
    return bool((x == x.reshape(-1, x.shape[-1])[0]).all())


def has_distinct_rows(x: torch.Tensor) -> bool:
    """Whether no row holds a number twice, and that is hardly chance."""
    width = x.shape[-1] if x.dim() > 1 else 0
    if width < 2 or x.numel() == 0:
        return False
    shares = x.unique(return_counts=True)[1].double() / x.numel()
    n_pairs = x.numel() * (width - 1) / 2 * float(shares.square().sum())
    return n_pairs > CHANCE and not bool((x.sort(-1).values.diff() == 0).any())


def is_once(x: torch.Tensor) -> bool:
    """Whether no number occurs twice, in the tensor or in any row, and that is hardly chance: by
    the width of their range, or because they rise, or are a whole range."""
    n_possible = int(x.max()) - int(x.min()) + 1
    for rows in (x.reshape(1, -1), x.flatten(0, -2)) if x.dim() > 1 else (x.reshape(1, -1),):
        width = rows.shape[-1]
        if width < 2 or bool((rows.sort(-1).values.diff() == 0).any()):
            continue
        n_pairs = x.numel() * (width - 1) / 2
        if n_pairs / n_possible > CHANCE or n_possible == width or in_order(rows):
            return True
    return False


def skew_integers(arguments: list[Any], seed: int) -> list[Any]:
    """Return ``arguments`` with one number in half of the places of each integer tensor, as when
    one expert gets most tokens; in a mask the rarer one.

    Sorted rows stay sorted between their ends; where no row holds a number twice, the number is in
    as many rows as possible.
    """

    def change(x: torch.Tensor) -> torch.Tensor:
        if not can_skew(x):
            return x
        return laid_out(_skewed(x, torch.Generator(x.device).manual_seed(seed)), x)

    return list(map_tensors(change, arguments))


def _are_edges(x: torch.Tensor) -> bool:
    """Whether it holds pairs of integers that occur once each, sorted by one of the two, as a
    graph's edges by their sources. Other pairs would lose that form, so they stay."""
    if not is_whole(x) or x.dim() != 2 or min(x.shape) != 2 or max(x.shape) < SHORTEST:
        return False
    pairs = x if x.shape[1] == 2 else x.mT
    is_sorted = (pairs[1:] >= pairs[:-1]).all(0) & (pairs[0] != pairs[-1])
    return bool(is_sorted.any()) and len(pairs.unique(dim=0)) == len(pairs)


def can_skew(x: torch.Tensor) -> bool:
    """Whether numbers repeat in an integer tensor, or it is a mask without a form."""
    if not is_whole(x) or x.numel() < 2 or overlaps(x) or _are_edges(x):
        return False
    n_values = x.unique().numel()
    return _is_scattered(x) if n_values == 2 else 2 < n_values < x.numel()


def _is_scattered(x: torch.Tensor) -> bool:
    """Whether the elements of a mask are independent of each other. They are not if most lines
    along an axis hold as many of one number (one class of several), or change once (lengths)."""
    if x.numel() < 4 * SHORTEST:  # too few to tell
        return False
    mask = (x == x.amax()).int()
    share = float(mask.double().mean())
    for axis in range(x.dim()):
        changes = mask.diff(dim=axis).abs().sum(axis)
        expected = 2 * share * (1 - share) * (x.shape[axis] - 1) * changes.numel()
        counts = mask.sum(axis)
        has_form = counts.numel() >= SHORTEST and bool((counts == counts.flatten()[0]).all())
        if has_form or float(changes.sum()) <= SCATTERED * expected:
            return False
    return True


def _skewed(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    values, counts = x.unique(return_counts=True)
    is_hit = torch.rand(x.shape, generator=draw, device=x.device) < SKEWED_SHARE
    if len(values) == 2:
        return kept(x, torch.where(is_hit, values[counts.argmin()], x))
    chosen = x.flatten()[torch.randint(x.numel(), (), generator=draw, device=x.device)]
    if not has_distinct_rows(x):
        return _with_ends(x, kept(x, torch.where(is_hit, chosen, x)))
    # In one place of half of the rows, where it is not there already.
    order = torch.rand(x.shape, generator=draw, device=x.device)
    is_one = order == order.amax(-1, keepdim=True)
    is_hit = is_one & is_hit[..., :1] & (x != chosen).all(-1, keepdim=True)
    return kept(x, torch.where(is_hit, chosen, x))


def _shuffled(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Draw an order of the numbers of each row."""
    return torch.rand(x.shape, generator=draw, device=x.device).argsort(-1)


def _with_ends(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """Return ``changed`` with the ends of the rows of ``x``, if those are sorted and not short (a
    single row may be)."""
    if in_order(x) and x.shape[-1] >= min(x.numel(), SHORTEST):
        changed[..., 0], changed[..., -1] = x[..., 0], x[..., -1]
    return changed


def _turned(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Flip some numbers of a floating-point mask; triangles and sorted rows stay such."""
    low, high = torch.aminmax(x)
    share = TURNED_SHARE if draw.initial_seed() % 2 else TURNED / x.numel()
    is_turned = torch.rand(x.shape, generator=draw, device=x.device) < share
    return kept(x, torch.where((x == low) == is_turned, high, low))


def _others_than(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Make other values for a tensor of one number: some elements of a mask are flipped, also in a
    mask of ones and zeros; lengths and indices are drawn between half the number and the number."""
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


def _other_places(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """Move each of the positions ``x`` to another place."""
    order = _shuffled(x, draw)
    return x.gather(-1, torch.empty_like(order).scatter_(-1, order, order.roll(1, -1)))


def _other_gaps(x: torch.Tensor, draw: torch.Generator, bounds: set[int]) -> torch.Tensor:
    """Return sorted rows of distinct numbers with the gaps between them in another order and the
    same ends.

    Where all gaps are equal, some grow at the cost of others; steps of one, as positions have, just
    grow. Nothing changes where a Python integer among the arguments gives the equal gaps, or how
    many positions there are: a kernel may allocate by it.
    """
    gaps = x.diff()
    order = _shuffled(gaps, draw)
    step = int(gaps.flatten()[0])
    if not bool((gaps == step).all()):
        others = gaps.gather(-1, order)
    elif not bounds.isdisjoint({step, int(x.max()) + 1} - {1}):
        return x
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


def same_integers(one: list[Any], other: list[Any]) -> list[bool]:
    """By tensor, whether it holds integers or a mask that are the same in two draws."""
    pairs = zip(leaves(one), leaves(other), strict=True)
    asked = [((is_whole(a) and a.numel() > 0) or is_mask(a), a, b) for a, b in pairs]
    return [is_one and torch.equal(a, b) for is_one, a, b in asked]

"""Patterns in a tensor's values: order, symmetry, triangles of zeros, masks, rows of two equal
halves, rows that sum to one or have length one, columns of integers, views.

A kernel may rely on these, as on shapes. They are read off the task's own inputs and kept whenever
the judge changes them. A pattern that few numbers have by chance, as three in order, is gone in
another draw, and a kernel that relies on it fails there.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernelwright.judge.sandbox.layout import is_folded

SHORTEST = 8
"""Length of a row, or of a matrix's side, from which a pattern is hardly chance: one in 40,000 rows
of this length is sorted by luck."""
FEWEST_PAIRS = SHORTEST * (SHORTEST - 1) // 2
"""Numbers beyond the diagonals of all matrices together, from which a triangle is hardly chance in
matrices that are not square."""
ONE = 1e-5
"""Largest distance of a row's sum, or length, from one; at least the type's own resolution."""
MOST_LINES = 4
"""Longest tuple: edges have two numbers, boxes four."""
SAME_ULP = 16.0
"""Largest difference across the diagonal of a symmetric matrix, in ulp of its largest number."""
TURNED, TURNED_SHARE = 16, 0.1
"""How many numbers of a mask are flipped, by turns: so few that a sample of one in a thousand shows
none, or such a share that a mean shows it."""


def kept(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed`` with the patterns of ``x``.

    Shapes:
        All three alike.
    """
    is_share, is_unit = sums_to_one(x), has_unit_rows(x)
    if not (is_share or is_unit) or is_mask(x) or is_symmetric(x):
        return _kept(x, changed)
    wide = torch.promote_types(x.dtype, torch.float32)
    found = _kept(x, changed.abs() if is_share else changed).to(wide)
    sizes = found.sum(-1, keepdim=True) if is_share else found.norm(dim=-1, keepdim=True)
    has_size = (sizes > 0) & sizes.isfinite()
    return torch.where(has_size, found / sizes, x.to(wide)).to(x.dtype)


def _kept(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    if in_order(x):
        return changed.sort(-1).values
    if falls(x) and not (is_mask(x) or is_lower(x)):  # as a causal mask, whose form is another
        return changed.sort(-1, descending=True).values
    number = _line_in_order(x)
    if number is not None:
        tuples = lines_of(changed)
        assert tuples is not None
        return across(x, tuples[tuples[:, number].argsort(stable=True)])
    changed = _twice(x, changed)
    if is_symmetric(x):  # before triangles: of a diagonal both are zeros
        is_hollow = not bool((x.diagonal(dim1=-2, dim2=-1) != 0).any())
        changed = changed.tril(-1 if is_hollow else 0) + changed.tril(-1).mT
        if is_hollow and x.dtype != torch.bool and bool((x >= 0).all()):  # distances
            changed = changed.abs()
    if is_lower(x):
        changed = changed.tril()
    return changed.triu() if is_upper(x) else changed


def in_order(x: torch.Tensor) -> bool:
    """Whether every row is sorted, as boundaries and offsets are."""
    if x.dim() == 0 or x.shape[-1] < 2 or x.numel() == 0 or x.is_complex():
        return False
    first = x[(0,) * (x.dim() - 1)]
    if bool((first[1:] < first[:-1]).any()) or bool((x[..., 0] == x[..., -1]).all()):
        return False
    return bool((x[..., 1:] >= x[..., :-1]).all())


def falls(x: torch.Tensor) -> bool:
    """Whether every row is sorted in descending order, as where likely words come first, or what is
    beyond a length is masked."""
    if x.dim() == 0 or x.numel() == 0 or x.is_complex():
        return False
    first = x[(0,) * (x.dim() - 1)]  # it tells nearly all, and is little to look at
    return not bool((first[1:] > first[:-1]).any()) and in_order(x.flip(-1))


def lines_of(x: torch.Tensor) -> torch.Tensor | None:
    """A table's rows, or a graph's edges, as tuples; None for tensors of another form.

    Shapes:
        x: (n, k) or (k, n) with k from 2 to MOST_LINES; the tuples (n, k).
    """
    if x.dim() != 2 or min(x.shape) < 2 or min(x.shape) > MOST_LINES or max(x.shape) < SHORTEST:
        return None
    return x if x.shape[-1] <= MOST_LINES else x.mT


def across(x: torch.Tensor, tuples: torch.Tensor) -> torch.Tensor:
    """Tuples in the layout of ``x``."""
    return tuples if tuples.shape == x.shape else tuples.mT


def _line_in_order(x: torch.Tensor) -> int | None:
    """The first column of tuples that is sorted, as the times of events; None if there is none."""
    tuples = None if x.is_complex() else lines_of(x)
    if tuples is None:
        return None
    is_sorted = (tuples[1:] >= tuples[:-1]).all(0) & (tuples[0] != tuples[-1])
    return int(is_sorted.nonzero()[0]) if bool(is_sorted.any()) else None


def sums_to_one(x: torch.Tensor) -> bool:
    """Whether all rows are probabilities."""
    return _are_one(x, lambda rows: rows.sum(-1).where((rows >= 0).all(-1), 0.0))


def has_unit_rows(x: torch.Tensor) -> bool:
    """Whether all rows have length one, as directions."""
    return _are_one(x, lambda rows: rows.norm(dim=-1))


def _are_one(x: torch.Tensor, size: Callable[[torch.Tensor], torch.Tensor]) -> bool:
    """Whether all rows have size one; the first row tells for nearly all tensors."""
    if not x.is_floating_point() or x.dim() == 0 or x.shape[-1] < 2 or x.numel() == 0:
        return False
    room = max(ONE, torch.finfo(x.dtype).eps)
    parts = (x[(0,) * (x.dim() - 1)], x)
    return all(bool(((size(part.double()) - 1).abs() <= room).all()) for part in parts)


def with_whole_columns(
    x: torch.Tensor, changed: torch.Tensor, draw: torch.Generator | None = None
) -> torch.Tensor:
    """``changed`` with the integer columns that ``x`` has beside others, as an image's number
    beside a box; shuffled where a generator is given."""
    columns = _whole_columns(x)
    others = (in_order, is_symmetric, is_lower, is_upper, sums_to_one, has_unit_rows)
    if not columns.numel() or any(holds(x) for holds in others):
        return changed
    rows, others = (t.reshape(-1, x.shape[-1]) for t in (x, changed))
    order = slice(None)
    if draw is not None:
        order = torch.randperm(len(rows), generator=draw, device=x.device)
    others = others.clone()
    others[:, columns] = rows[order][:, columns]
    return others.view(x.shape)


def _whole_columns(x: torch.Tensor) -> torch.Tensor:
    """The columns of integers, not all zero, beside other columns, in enough rows not to be
    chance."""
    none = torch.empty(0, dtype=torch.long)
    if (
        not x.is_floating_point()
        or x.dim() < 2
        or x.numel() < SHORTEST * x.shape[-1]
        or overlaps(x)
    ):
        return none
    columns = torch.arange(x.shape[-1], device=x.device)
    for part in (x[(0,) * (x.dim() - 1)][None], x.flatten(0, -2)):
        some = part[:, columns]
        is_exact = some.abs() * torch.finfo(x.dtype).eps < 1 / 16  # larger ones are whole by type
        columns = columns[((some == some.round()) & is_exact).all(0)]
        if not columns.numel():
            return none
    columns = columns[(x.flatten(0, -2)[:, columns] != 0).any(0)]
    return columns if columns.numel() < x.shape[-1] else none


def comes_twice(x: torch.Tensor) -> bool:
    """Whether each row is a half and its copy, as cosines of rotary positions."""
    half = x.shape[-1] // 2 if x.dim() else 0
    return _is_copy(x, x[..., :half], x[..., half:]) if half else False


def comes_in_pairs(x: torch.Tensor) -> bool:
    """Whether each second number of a row repeats the one before it, likewise."""
    return _is_copy(x, x[..., ::2], x[..., 1::2]) if x.dim() else False


def _is_copy(x: torch.Tensor, one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether the halves of long rows, or of many rows, are equal, and not constant."""
    if not x.is_floating_point() or one.shape != two.shape or not _are_many(one):
        return False
    first = (0,) * (x.dim() - 1)  # which tells nearly all tensors, and is little to look at
    if x.numel() == 0 or not torch.equal(one[first], two[first]) or not torch.equal(one, two):
        return False
    return bool((one != one[..., :1]).any())


def _twice(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed`` with the repetitions that the rows of ``x`` have."""
    if comes_twice(x):
        return torch.cat((changed[..., : x.shape[-1] // 2],) * 2, -1)
    return changed[..., ::2].repeat_interleave(2, -1) if comes_in_pairs(x) else changed


def is_symmetric(x: torch.Tensor) -> bool:
    """Whether all matrices equal their transposes but for rounding, and are not constant."""
    if not _is_matrix(x) or x.shape[-1] != x.shape[-2]:
        return False
    first = x[(0,) * (x.dim() - 2)]
    if not _are_the_same(first[0], first[:, 0]) or bool((first[0] == first[1]).all()):
        return False
    return _are_the_same(x, x.mT)


def _are_the_same(x: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether numbers are equal, but for the rounding of what made them."""
    if not x.is_floating_point():
        return torch.equal(x, other)
    largest = x.abs().nan_to_num(posinf=0.0).max()
    room = SAME_ULP * torch.finfo(x.dtype).eps * largest
    return bool(((x == other) | ((x - other).abs() <= room)).all())


def is_lower(x: torch.Tensor) -> bool:
    """Whether all numbers above the diagonals are zero, and not all others."""
    if not _is_matrix(x):
        return False
    first = x[(0,) * (x.dim() - 2)]
    if bool((first[0, 1:] != 0).any()) or not bool((first.diagonal() != 0).any()):
        return False
    return not bool((x.triu(1) != 0).any())


def is_upper(x: torch.Tensor) -> bool:
    """Whether all numbers below the diagonals are zero, and not all others."""
    return _is_matrix(x) and is_lower(x.mT)


def is_mask(x: torch.Tensor) -> bool:
    """Whether a floating-point tensor holds only two numbers, as a mask does."""
    if not x.is_floating_point() or x.numel() < SHORTEST or overlaps(x):
        return False
    for part in (x[(0,) * (x.dim() - 1)], x):  # the first row tells nearly all
        low, high = torch.aminmax(part)
        if not bool(((part == low) | (part == high)).all()):
            return False
    return bool(low != high)


def turned(x: torch.Tensor, draw: torch.Generator) -> torch.Tensor:
    """A mask with some of its numbers flipped, and its patterns."""
    low, high = torch.aminmax(x)
    share = TURNED_SHARE if draw.initial_seed() % 2 else TURNED / x.numel()
    is_turned = torch.rand(x.shape, generator=draw, device=x.device) < share
    return kept(x, torch.where((x == low) == is_turned, high, low))


def _is_matrix(x: torch.Tensor) -> bool:
    """Whether there are square matrices, or others with enough numbers beyond their diagonals."""
    if x.dim() < 2 or x.numel() == 0 or min(x.shape[-2:]) < 2:
        return False
    if x.shape[-1] == x.shape[-2]:
        return True
    side = min(x.shape[-2:])
    n_matrices = x.numel() // (x.shape[-1] * x.shape[-2])
    return n_matrices * side * (side - 1) // 2 >= FEWEST_PAIRS


def _are_many(rows: torch.Tensor) -> bool:
    """Whether there are enough numbers to tell a common pattern of rows from chance."""
    length = rows.shape[-1]
    return length >= SHORTEST or (length > 1 and rows.numel() >= SHORTEST**2)


def rows_are_permutations(x: torch.Tensor) -> bool:
    """Whether all rows hold the same numbers in some order, each number once."""
    if x.dim() == 0 or x.numel() == 0 or not _are_many(x):
        return False
    rows = x.sort(-1).values.flatten(0, -2) if x.dim() > 1 else x.sort(-1).values[None]
    return bool((rows[0, 1:] != rows[0, :-1]).all()) and bool((rows == rows[0]).all())


def overlaps(x: torch.Tensor) -> bool:
    """Whether some of its elements may be one and the same: expanded, or windows of a signal."""
    return is_folded(tuple(x.shape), x.stride())

"""Forms of tensors that a kernel may rely on, as on shapes.

They are read off the task's own inputs. Sorted rows, symmetric matrices and triangles keep their
form when the judge changes them. A tensor with a form that ``has_other_form`` knows is not changed
at all. A form that few numbers have by chance is gone in the task's next draw, and a kernel that
relies on it fails there.
"""

from __future__ import annotations

import torch

from kernelwright.judge.sandbox.layout import is_folded, span

SHORTEST = 8
"""Length from which a form is hardly chance: one in 40,000 rows of this length is sorted by luck.
"""
ONE = 1e-5
"""Largest distance of a row's sum, or length, from one; at least the type's own resolution."""
SAME_ULP = 16.0
"""Largest difference across the diagonal of a symmetric matrix, in ulp of its largest number."""


def laid_out(changed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Return ``changed`` with the strides of ``x`` and zeros in the gaps: a candidate may read all
    of that memory, which could otherwise hold what the judge has freed."""
    if changed.stride() == x.stride():
        return changed
    memory = x.new_zeros(span(tuple(x.shape), x.stride()))
    return memory.as_strided(x.shape, x.stride()).copy_(changed)


def kept(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """Return ``changed`` sorted, mirrored or with zeros where ``x`` is in order, symmetric or a
    triangle.

    Shapes:
        All three alike.
    """
    if in_order(x):
        return changed.sort(-1).values
    if falls(x) and not (is_mask(x) or is_lower(x)):  # a causal mask is a triangle
        return changed.sort(-1, descending=True).values
    if is_symmetric(x):
        changed = changed.tril() + changed.tril(-1).mT
    if is_lower(x):
        changed = changed.tril()
    return changed.triu() if is_upper(x) else changed


def has_other_form(x: torch.Tensor) -> bool:
    """Whether a floating-point tensor has a form that other numbers would lose: rows that sum to
    one or have length one, rows of two equal halves or of equal pairs (cosines of rotary
    positions), a sorted column, or a column of integers beside others (an image's number beside a
    box)."""
    if x.dim() == 0 or x.shape[-1] < 2 or x.numel() == 0:
        return False
    first = x[(0,) * (x.dim() - 1)][None]  # it tells for nearly all tensors
    if not (x.shape[-1] <= SHORTEST or _are_of_size_one(first) or _are_doubled(first)):
        return False
    rows = x.flatten(0, -2) if x.dim() > 1 else first
    is_constant = bool((rows == rows[:, :1]).all())
    is_doubled = _are_doubled(rows) and not is_constant
    return _are_of_size_one(rows) or is_doubled or _has_special_columns(rows)


def _are_of_size_one(rows: torch.Tensor) -> bool:
    room, wide = max(ONE, torch.finfo(rows.dtype).eps), rows.double()
    sizes = [wide.norm(dim=-1)] + ([wide.sum(-1)] if bool((rows >= 0).all()) else [])
    return any(bool(((size - 1).abs() <= room).all()) for size in sizes)


def _are_doubled(rows: torch.Tensor) -> bool:
    if rows.shape[-1] % 2 or rows.shape[-1] < SHORTEST:
        return False
    halves, pairs = rows.chunk(2, -1), (rows[:, ::2], rows[:, 1::2])
    return any(torch.equal(a, b) for a, b in (halves, pairs))


def _has_special_columns(rows: torch.Tensor) -> bool:
    """Whether some columns, but not all, hold integers other than zeros, or one is sorted."""
    if rows.shape[-1] > SHORTEST or len(rows) < SHORTEST:
        return False
    is_sorted = (rows[1:] >= rows[:-1]).all(0) & (rows[0] != rows[-1])
    is_whole = (rows == rows.round()).all(0)
    is_label = is_whole & (rows != 0).any(0) & ~is_whole.all()
    return bool((is_sorted | is_label).any())


def in_order(x: torch.Tensor) -> bool:
    """Whether every row is sorted, as boundaries and offsets are."""
    if x.dim() == 0 or x.shape[-1] < 2 or x.numel() == 0 or x.is_complex():
        return False
    first = x[(0,) * (x.dim() - 1)]  # it tells for nearly all tensors
    if bool((first[1:] < first[:-1]).any()) or bool((x[..., 0] == x[..., -1]).all()):
        return False
    return bool((x[..., 1:] >= x[..., :-1]).all())


def falls(x: torch.Tensor) -> bool:
    """Whether every row is sorted in descending order, as where likely words come first."""
    if x.dim() == 0 or x.numel() == 0 or x.is_complex():
        return False
    first = x[(0,) * (x.dim() - 1)]
    return not bool((first[1:] > first[:-1]).any()) and in_order(x.flip(-1))


def is_symmetric(x: torch.Tensor) -> bool:
    """Whether all matrices equal their transposes but for rounding, and are not constant."""
    if not _are_matrices(x) or x.shape[-1] != x.shape[-2]:
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
    if not _are_matrices(x):
        return False
    first = x[(0,) * (x.dim() - 2)]
    if bool((first[0, 1:] != 0).any()) or not bool((first.diagonal() != 0).any()):
        return False
    return not bool((x.triu(1) != 0).any())


def is_upper(x: torch.Tensor) -> bool:
    """Whether all numbers below the diagonals are zero, and not all others."""
    return _are_matrices(x) and is_lower(x.mT)


def _are_matrices(x: torch.Tensor) -> bool:
    """Whether there are square matrices, or others large enough for a triangle not to be chance."""
    if x.dim() < 2 or x.numel() == 0 or min(x.shape[-2:]) < 2:
        return False
    return x.shape[-1] == x.shape[-2] or min(x.shape[-2:]) >= SHORTEST


def is_mask(x: torch.Tensor) -> bool:
    """Whether a floating-point tensor holds only two numbers, as a mask does."""
    if not x.is_floating_point() or x.numel() < SHORTEST or overlaps(x):
        return False
    for part in (x[(0,) * (x.dim() - 1)], x):
        low, high = torch.aminmax(part)
        if not bool(((part == low) | (part == high)).all()):
            return False
    return bool(low != high)


def overlaps(x: torch.Tensor) -> bool:
    """Whether elements may share memory: an expanded tensor, or windows of a signal."""
    return is_folded(tuple(x.shape), x.stride())

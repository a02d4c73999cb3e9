"""Distances between results, on the scale of their rows.

The error of an output x against the float64 result e is the largest |x - e| / s, where s is the
largest |e| in the same row (the last axis): small rows cannot hide behind large ones. Rows that
are small by chance are measured as if they were a quarter of the median row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import partial

import torch

from kernelwright.judge.compare.pieces import cut_axis, mask_of, pieces

SMALL_ROW = 0.25
"""Smallest scale of a row, relative to the median row's largest value. Without it the error is a
ratio with a heavy tail (a ReLU leaves rows of any smallness), and honest kernels fail by bad luck;
rows of zeros in place of values are still seen down to 1e-6 of the median row."""
ROW_FLOOR = 1e-6
"""Smallest scale of a row, relative to the largest value: for outputs whose rows have nothing in
common."""
ORDER_NOISE = 1e-4
"""Largest difference between two runs of a reference, relative to its largest value: atomics add in
any order, so grouped transposed convolutions of cuDNN leave other numbers where sums nearly
cancel. In half precision it is one step of the type at that value, since the atomics of a gradient
may round every sum to the type."""


def is_whole(x: torch.Tensor) -> bool:
    """Whether a tensor holds integers or booleans."""
    return not (x.is_floating_point() or x.is_complex())


def is_one_number(x: torch.Tensor) -> bool:
    """Whether all numbers of a tensor that is not empty are the same."""
    return bool((x == x.flatten()[0]).all())


def as_real(tensors: list[torch.Tensor]) -> list[torch.Tensor]:
    """Complex tensors as rows of their real and imaginary parts; others as they are."""
    return [_parts(t) if t.is_complex() else t for t in tensors]


def _parts(t: torch.Tensor) -> torch.Tensor:
    return torch.view_as_real(t.resolve_conj()).flatten(-2 if t.dim() else -1)


def row_scale(exact: torch.Tensor) -> torch.Tensor:
    """The scale that errors of ``exact`` are measured on.

    Shapes:
        As ``exact``, with a last axis of 1; a scalar where there are no rows.
    """
    if exact.numel() == 0:
        return exact.new_ones(())
    rows = _finite_sizes(exact, by_row=exact.dim() > 1 and exact.shape[-1] > 1)
    largest = rows.max()
    least = torch.maximum(_typical(rows) * SMALL_ROW, largest * ROW_FLOOR)
    # An output that is all zeros has no scale: its errors are absolute.
    return torch.maximum(rows, torch.where(largest > 0, least, torch.ones_like(least)))


def largest_size(exact: torch.Tensor) -> torch.Tensor:
    """The largest finite size of all; one where all are zero or there are none."""
    if exact.numel() == 0:
        return exact.new_ones(())
    largest = _finite_sizes(exact, by_row=False)
    return torch.where(largest > 0, largest, torch.ones_like(largest))


def _finite_sizes(exact: torch.Tensor, *, by_row: bool) -> torch.Tensor:
    """The largest finite absolute value, in each row or of all."""
    found = _largest_sizes(exact, by_row=by_row)
    if bool(found.max().isfinite()):
        return found
    zeros = partial(torch.nan_to_num, nan=0.0, posinf=0.0, neginf=0.0)
    return _largest_sizes(exact, by_row=by_row, change=zeros)


def _largest_sizes(
    exact: torch.Tensor,
    *,
    by_row: bool,
    change: Callable[[torch.Tensor], torch.Tensor] | None = None,
) -> torch.Tensor:
    found = [sizes(change(p) if change else p, by_row=by_row) for (p,) in pieces(exact)]
    return torch.cat(found, cut_axis(exact)) if by_row else torch.stack(found).max()


def sizes(t: torch.Tensor, *, by_row: bool, in_place: bool = False) -> torch.Tensor:
    """The largest size in each row, with a last axis of 1, or of all; NaN where there is one.

    ``in_place``: ``t`` is nobody else's, and is overwritten where that saves memory.
    """
    if t.is_cuda:  # memory is read once, and nothing is written
        low, high = torch.aminmax(t, dim=-1, keepdim=True) if by_row else torch.aminmax(t)
        return torch.maximum(-low, high)
    t = t.abs_() if in_place else t.abs()
    return t.amax(-1, keepdim=True) if by_row else t.max()


def _typical(rows: torch.Tensor) -> torch.Tensor:
    """The median of those above zero; zero where there are none."""
    if not rows.is_cuda:
        present = rows[rows > 0]
        return present.median() if present.numel() else rows.max()
    # A GPU's median runs on one multiprocessor, and to pick those above zero waits for the count.
    n_zeros = (rows == 0).sum()
    middle = n_zeros + (rows.numel() - n_zeros - 1).div(2, rounding_mode="floor")
    return rows.flatten().sort().values.index_select(0, middle.view(1)).view(())


def distances(
    value: torch.Tensor, exact: torch.Tensor, finite: torch.Tensor | None, scale: torch.Tensor
) -> Iterator[torch.Tensor]:
    """The row-scaled distances, piece by piece; zero where it is not finite in both."""
    masks = () if finite is None else (finite,)
    for v, e, s, *mask in pieces(value, exact, scale.expand(exact.shape), *masks):
        distance = (v.to(e.dtype) - e).abs_().div_(s)
        yield torch.where(mask[0], distance, 0.0) if mask else distance


def error_of(
    value: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None = None,
    scale: torch.Tensor | None = None,
) -> float:
    """The largest row-scaled error; infinite where ``value`` is not finite and ``exact`` is."""
    if exact.numel() == 0:
        return 0.0
    scale = row_scale(exact) if scale is None else scale
    if finite is not None:
        worst = [d.max() for d in distances(value, exact, finite, scale)]
    else:  # one division for a row
        by_row = scale.dim() > 0
        worst = [
            (sizes(v - e, by_row=by_row, in_place=True) / (s[..., :1] if by_row else scale)).max()
            for v, e, s in pieces(value, exact, scale.expand(exact.shape))
        ]
    return float(torch.stack(worst).max().nan_to_num(math.inf, math.inf))


def share_of(distances: Iterable[torch.Tensor], limit: float) -> float:
    """The share of the numbers, given in pieces, that are larger than ``limit``; zero without
    any."""
    n_beyond = n_numbers = 0
    for distance in distances:
        n_beyond += int((distance > limit).sum())
        n_numbers += distance.numel()
    return n_beyond / max(1, n_numbers)


def typical_error(
    value: torch.Tensor,
    exact: torch.Tensor,
    finite: torch.Tensor | None,
    scale: torch.Tensor,
    most: float = math.inf,
) -> float:
    """The root of the mean square of the row-scaled errors, without those larger than ``most``."""
    total = 0.0
    for distance in distances(value, exact, finite, scale):
        total += float(distance.masked_fill_(distance > most, 0.0).square_().sum())
    return math.sqrt(total / max(1, exact.numel()))


def narrowest(tensors: Iterable[torch.Tensor]) -> torch.dtype:
    """The floating-point type among theirs that rounds most; float64 if there is none."""
    types = [t.dtype for t in tensors if t.is_floating_point()]
    return max(types, key=lambda dtype: torch.finfo(dtype).eps, default=torch.float64)


def all_finite(tensors: list[torch.Tensor]) -> bool:
    """Whether every number of every tensor is finite."""
    # A sum passes NaN and infinity on, in one quick pass; it may also overflow by itself.
    return all(bool(t.sum().isfinite()) or bool(t.isfinite().all()) for t in tensors)


def finite_in_both(own: torch.Tensor, exact: torch.Tensor) -> torch.Tensor | None:
    """The mask of places where both are finite; None if that is everywhere."""
    if bool(own.sum().isfinite() & exact.sum().isfinite()):
        return None
    if all(bool(o.isfinite().all() & e.isfinite().all()) for o, e in pieces(own, exact)):
        return None
    return mask_of(lambda o, e: e.isfinite() & o.isfinite(), own, exact)


def furthest(one: list[torch.Tensor], other: list[torch.Tensor]) -> float:
    """The largest distance between two results of one kernel, over the scale of its row."""
    pairs = zip(as_real(one), as_real(other), strict=True)
    errors = (error_of(b, a, finite_in_both(a, b)) for a, b in pairs if a.is_floating_point())
    return max(errors, default=0.0)


def are_alike(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether two results are the same but for rounding; random ones are not."""
    one, two = as_real([one, two])
    step = torch.finfo(one.dtype).eps if one.is_floating_point() else 0.0
    noise = max(ORDER_NOISE, step) * float(largest_size(one)) if step else 0.0
    near = partial(torch.allclose, rtol=max(1e-2, 4 * step), atol=noise, equal_nan=True)
    return all(near(a.double(), b.double()) for a, b in pieces(one, two))


def same(one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
    """The mask of places where two are equal; NaN equals NaN."""
    return (one == other) | (one.isnan() & other.isnan())


def same_but_where(mask: torch.Tensor, one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two are equal in all places where the mask is false; NaN equals NaN."""
    return all(bool((same(a, b) | m).all()) for m, a, b in pieces(mask, one, other))


def differ(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether any element differs; NaN is the same as NaN."""
    return any(
        not torch.equal(a, b)  # where there are NaN too
        and not torch.equal(torch.nan_to_num(a), torch.nan_to_num(b))
        for a, b in pieces(*as_real([one, two]))
    )

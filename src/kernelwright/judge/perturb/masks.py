"""Masks among integers: whether their two numbers are scattered, or have a form."""

from __future__ import annotations

import torch

from kernelwright.judge.perturb.patterns import SHORTEST

SCATTERED, FEWEST_CHANGES = 0.5, 12.0
"""Changes from number to number along rows, relative to those of a mask whose elements are
independent, above which a mask counts as scattered (bands and blocks have fewer); and how many
changes must be expected to tell."""


def is_scattered(x: torch.Tensor) -> bool:
    """Whether the elements of a tensor of two numbers are independent of each other.

    They are not if every line along an axis holds as many of one number, as one class of several,
    or if the mask says what lies below a length.
    """
    is_high = x == x.amax()
    width = x.shape[-1] if x.shape[-1] >= SHORTEST else x.numel()
    rows = is_high.reshape(-1, width)
    share = float(rows.double().mean())
    expected = 2 * share * (1 - share) * (width - 1) * len(rows)
    n_changes = int((rows[:, 1:] != rows[:, :-1]).sum())
    if expected < FEWEST_CHANGES or n_changes <= SCATTERED * expected:
        return False
    return not any(_has_form(is_high, axis) for axis in range(x.dim()))


def _has_form(mask: torch.Tensor, axis: int) -> bool:
    """Whether all lines along an axis, if there are many, hold as many ones, or change once."""
    counts = mask.sum(axis)
    if counts.numel() >= SHORTEST and bool((counts == counts.flatten()[0]).all()):
        return True
    steps = mask.int().diff(dim=axis)
    is_length = bool((steps >= 0).all()) or bool((steps <= 0).all())
    return is_length and int((steps != 0).sum()) >= SHORTEST


def with_both(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed``, but rows of a mask that would hold only one number keep their values: a query
    that sees something still does."""
    if x.dim() < 2:
        return changed
    is_lost = _is_one_number(changed) & ~_is_one_number(x)
    return torch.where(is_lost, x, changed)


def _is_one_number(x: torch.Tensor) -> torch.Tensor:
    """Whether each row is constant."""
    return (x == x[..., :1]).all(-1, keepdim=True)

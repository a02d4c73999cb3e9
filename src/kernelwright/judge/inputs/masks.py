"""Masks among whole numbers: whether they have a form, and what of one is kept."""

from __future__ import annotations

import torch

from kernelwright.judge.inputs.patterns import SHORTEST

SCATTERED, FEWEST_CHANGES = 0.5, 12.0
"""Of the changes from number to number that a mask has if each is drawn for itself, which tell it
from one of bands or blocks; and how many those must be."""


def is_scattered(x: torch.Tensor) -> bool:
    """Whether it holds two numbers, each drawn for itself: not as many of one along every line of
    an axis, as of one class of several, and not those below a length."""
    if x.numel() < 2:
        return False
    is_high = x == (x.any() if x.dtype == torch.bool else x.max())
    low = x.all() if x.dtype == torch.bool else x.min()
    if bool(is_high.all()) or not bool((is_high | (x == low)).all()):
        return False
    width = x.shape[-1] if x.shape[-1] >= SHORTEST else x.numel()
    rows = is_high.reshape(-1, width)
    share = float(rows.double().mean())
    expected = 2 * share * (1 - share) * (width - 1) * len(rows)
    n_changes = int((rows[:, 1:] != rows[:, :-1]).sum())
    if expected < FEWEST_CHANGES or n_changes <= SCATTERED * expected:
        return False
    return not any(_has_form(is_high, axis) for axis in range(x.dim()))


def _has_form(mask: torch.Tensor, axis: int) -> bool:
    """Whether all lines along an axis, and there are many, have as many ones, or change once."""
    counts = mask.sum(axis)
    if counts.numel() >= SHORTEST and bool((counts == counts.flatten()[0]).all()):
        return True
    steps = mask.int().diff(dim=axis)
    is_length = bool((steps >= 0).all()) or bool((steps <= 0).all())
    return is_length and int((steps != 0).sum()) >= SHORTEST


def with_both(x: torch.Tensor, changed: torch.Tensor) -> torch.Tensor:
    """``changed`` with the rows of a mask as they were that would hold but one number now: a query
    that sees something still does."""
    had_both = x.any(-1, keepdim=True) & ~x.all(-1, keepdim=True)
    has_both = changed.any(-1, keepdim=True) & ~changed.all(-1, keepdim=True)
    return torch.where(had_both & ~has_both, x, changed)

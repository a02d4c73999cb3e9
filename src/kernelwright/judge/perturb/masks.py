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

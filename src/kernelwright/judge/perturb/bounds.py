"""Python integers that bound those of a tensor, as the length of the longest sequence or the number
of classes. A kernel may allocate by them, so perturbed integers stay within."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.perturb.patterns import in_order
from kernelwright.judge.sandbox.layout import leaves, map_tensors

LEAST = 2
"""Smallest integer that counts as a bound: one may be anything, as an axis or a step."""


def in_bounds(own: list[Any], changed: list[Any]) -> list[Any]:
    """``changed``, but integer tensors that exceed a bound keep their ``own`` values.

    A Python integer among the arguments is a bound if it equals the largest number of the tensor,
    one more than that, or the largest step between sorted numbers.
    """
    bounds = {n for n in tree_leaves(own) if type(n) is int and n >= LEAST}
    given = iter(leaves(own))

    def mend(x: torch.Tensor) -> torch.Tensor:
        before = next(given)
        return before if bounds and _is_beyond(before, x, bounds) else x

    return map_tensors(mend, changed)


def _is_beyond(x: torch.Tensor, changed: torch.Tensor, bounds: set[int]) -> bool:
    if not is_whole(x) or x.dtype == torch.bool or x.numel() == 0 or x is changed:
        return False
    if not bounds.isdisjoint({int(x.max()), int(x.max()) + 1}) and bool(changed.max() > x.max()):
        return True
    is_bound = in_order(x) and int(x.diff().max()) in bounds
    return is_bound and bool(changed.diff().max() > x.diff().max())

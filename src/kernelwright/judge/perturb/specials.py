"""NaN and infinities among the inputs, and other Python numbers."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch.utils._pytree import tree_flatten, tree_leaves, tree_unflatten

from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.patterns import overlaps
from kernelwright.judge.sandbox.layout import map_tensors

VARIED = 2.0**-6
"""Relative change of a number that is the same in every draw: large enough to show in bfloat16."""
FEWEST = 4
"""Numbers of a tensor that gets NaN and both infinities."""


def with_specials(arguments: list[Any], seed: int) -> list[Any]:
    """``arguments`` with a NaN and both infinities somewhere in every floating-point tensor."""

    def change(x: torch.Tensor) -> torch.Tensor:
        if not x.is_floating_point() or x.numel() < FEWEST or overlaps(x):
            return x
        draw = torch.Generator().manual_seed(seed)
        changed = x.clone(memory_format=torch.preserve_format)
        for value in (float("nan"), float("inf"), float("-inf")):
            place = [int(torch.randint(n, (), generator=draw)) for n in x.shape]
            changed[tuple(place)] = value
        return laid_out(changed, x)

    return map_tensors(change, arguments)


def vary_numbers(arguments: list[Any], seed: int) -> list[Any]:
    """``arguments`` with every Python float changed by VARIED (a zero becomes VARIED): a module
    must read what it is given."""
    found, form = tree_flatten(arguments)
    sign = random.Random(seed).choice
    varied = [x + (x or 1.0) * VARIED * sign((-1, 1)) if type(x) is float else x for x in found]
    return tree_unflatten(varied, form)


def has_numbers(arguments: list[Any]) -> bool:
    """Whether there are Python floats among the arguments."""
    return any(type(leaf) is float for leaf in tree_leaves(arguments))

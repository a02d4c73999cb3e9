"""What tensors of whole numbers are to one another: nowhere beyond, or never both."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.machine.layout import leaves, map_tensors
from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.patterns import in_order

FEWEST_ENDS = 16
"""Numbers that lie on one side of others: that all of so many do is no chance."""


def in_step(own: list[Any], changed: list[Any]) -> list[Any]:
    """``changed`` where integers are nowhere beyond others, if ``own`` were not, as what begins
    ends later, and two masks nowhere both, as a class is no other. What cannot be so is as it was.
    """
    given, found = leaves(own), leaves(changed)
    pairs = [
        (one, other)
        for one, other in itertools.permutations(range(len(given)), 2)
        if _are_alike(given[one], given[other])
    ]
    ordered = [(a, b) for a, b in pairs if not bool((given[a] > given[b]).any())]
    for a, b in ordered:  # which leaves rows that are in order in order
        low, high = torch.minimum(found[a], found[b]), torch.maximum(found[a], found[b])
        found[a], found[b] = laid_out(low, given[a]), laid_out(high, given[b])
    while any(bool(_broken(given, found, a, b).any()) for a, b in ordered):
        for a, b in ordered:
            is_broken = _broken(given, found, a, b)
            if bool(is_broken.any()):
                found[a] = _given_back(given[a], found[a], is_broken)
                found[b] = _given_back(given[b], found[b], is_broken)
    for a, b in pairs:
        is_apart = given[a].dtype == torch.bool and not bool((given[a] & given[b]).any())
        if a < b and is_apart:
            found[b] = laid_out(found[b] & ~found[a], given[b])
    places = iter(range(len(found)))
    return map_tensors(lambda x: found[next(places)], changed)


def _are_alike(x: torch.Tensor, other: torch.Tensor) -> bool:
    is_many = is_whole(x) and x.numel() >= FEWEST_ENDS
    return is_many and x.shape == other.shape and x.dtype == other.dtype


def _broken(given: list[torch.Tensor], found: list[torch.Tensor], a: int, b: int) -> torch.Tensor:
    """Where one is beyond the other now, or as far though all of it was before that."""
    is_strict = bool((given[a] < given[b]).all())
    return found[a] >= found[b] if is_strict else found[a] > found[b]


def _given_back(x: torch.Tensor, changed: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    """``changed`` as it was there; all of it where it would no longer be in order."""
    return x if in_order(x) else laid_out(torch.where(where, x, changed), x)

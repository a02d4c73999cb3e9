"""Correlated integer tensors: one is nowhere larger than another, or two masks never overlap."""

from __future__ import annotations

import itertools
from typing import Any

import torch

from kernelwright.judge.compare.measures import is_whole
from kernelwright.judge.perturb.laid_out import laid_out
from kernelwright.judge.perturb.patterns import in_order
from kernelwright.judge.sandbox.layout import leaves, map_tensors

FEWEST_ENDS = 16
"""Numbers of a tensor from which an order between two tensors counts as meant, not as chance."""


def in_step(own: list[Any], changed: list[Any]) -> list[Any]:
    """``changed``, with relations between the ``own`` integer tensors restored.

    An interval's start stays at or before its end, and masks that exclude each other, as classes
    do, still do. Where that is impossible, numbers are as they were.
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
    """Where the first is now larger than the second, or equal though it was smaller everywhere."""
    is_strict = bool((given[a] < given[b]).all())
    return found[a] >= found[b] if is_strict else found[a] > found[b]


def _given_back(x: torch.Tensor, changed: torch.Tensor, where: torch.Tensor) -> torch.Tensor:
    """``changed`` with the old values at those places; all old values if sorted rows would not stay
    sorted."""
    return x if in_order(x) else laid_out(torch.where(where, x, changed), x)

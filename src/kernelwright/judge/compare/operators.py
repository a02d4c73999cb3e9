"""A computation in which every operator rounds as badly as a sound one may."""

from __future__ import annotations

import random
from typing import Any

import torch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.flop_counter import flop_registry

from kernelwright.judge.compare.expected import FACTOR
from kernelwright.judge.compare.growth import (
    MAX_BIASED_GROWTH,
    MAX_GROWTH,
    SUM_ULP,
    ULP32,
    n_added,
    summation_growth,
)
from kernelwright.judge.compare.moving import moves
from kernelwright.loaders.quiet_mode import QuietMode


class Rounding(QuietMode):
    """While it is entered, whatever an operator computes is off by one unit in float32's last
    place, or by as much as a sum of so many terms may be, or so many ``times`` that, up or down by
    chance: every number for itself, or all of a tensor ``alike``, which does not average out. What
    is computed in place is left as it is. FACTOR times what comes of it is allowed; of a sum alone
    no more than what any sum may be off.

    Source: Monte Carlo arithmetic (Parker, 1997).
    """

    def __init__(self, seed: int, *, alike: bool, equal_terms: bool, times: float = 1.0) -> None:
        super().__init__()
        self._seeds, self._unit = random.Random(seed), times * ULP32
        self._alike, self._equal_terms = alike, equal_terms

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        found = func(*args, **kwargs)
        if func._schema.is_mutable or moves(func, args, kwargs):
            return found
        given = _numbers((args, kwargs))
        if not given:  # it makes numbers from none
            return found
        n_terms = _n_terms(func, args, kwargs, given, found)
        growth = summation_growth(n_terms, equal_terms=self._equal_terms)
        growth = min(growth, MAX_BIASED_GROWTH if self._equal_terms else MAX_GROWTH)
        off = self._unit * max(1.0, min(growth, (SUM_ULP + growth) / FACTOR))
        return tree_map(lambda t: self._changed(t, off) if _is_number(t) else t, found)

    def _changed(self, t: torch.Tensor, off: float) -> torch.Tensor:
        seed = self._seeds.getrandbits(62)
        if self._alike:
            return t * (1 + (off if seed % 2 else -off))
        draw = torch.Generator(t.device).manual_seed(seed)
        # In t's layout, and in place: of a task's largest result there is little room for copies.
        factor = torch.empty_like(t, dtype=torch.float64).random_(2, generator=draw)
        factor.mul_(2 * off).add_(1 - off)
        return t * factor if t.is_complex() else factor.mul_(t)


def _n_terms(func: Any, args: Any, kwargs: Any, given: list[torch.Tensor], found: Any) -> float:
    """Length of the reduction of an operator."""
    results = _numbers(found)
    if results and func.overloadpacket in flop_registry:  # a product: two operations for each term
        flops: int = flop_registry[func.overloadpacket](*args, **kwargs, out_val=found)
        return flops / (2 * results[0].numel())
    return max(1.0, n_added(func, given, results))


def _numbers(values: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(values) if _is_number(t)]


def _is_number(value: Any) -> bool:
    if not isinstance(value, torch.Tensor) or value.numel() == 0:
        return False
    return value.is_floating_point() or value.is_complex()

"""The errors that sums may have, whatever the order in which their terms are added."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from kernelwright.judge.compare.moving import moves
from kernelwright.loaders.quiet_mode import QuietMode

SUM_ULP = 28.0
MAX_GROWTH, MAX_BIASED_GROWTH, MAX_BIASED_SUM = 256.0, 768.0, 2048.0
"""The floor for sums of n terms is (SUM_ULP + growth) float32 ulp. Rounding errors of sequential
summation grow as sqrt(n); where terms are equal, roundings are too, and they grow as n/2 (Higham,
Accuracy and Stability of Numerical Algorithms, 2002, 4.2). MKL's product of 20,000 equal terms with
ones is off by up to 622 ulp, a plain loop over 8,192 of them by 2,034: that is allowed where a task
has no products. float16 rounds such terms by 3,700. SUM_ULP: Strassen's algorithm was 43 ulp off on
an H200 where 33 were allowed with 12; two of three bfloat16 parts start at 108 there."""
FLOAT64_ULP = 1000.0
"""Tolerance of float64 results, in float64 ulp: a thousand steps of a recurrence were off by 36."""
ULP32 = 2.0**-24
"""Unit roundoff of sums: the library adds narrower types in float32, and float64 in float64."""


ADDING = ("sum", "mean", "var", "std", "norm")
"""Words in the names of operators that add up; norms return their statistics beside the result."""
FACTORISING = "linalg_"
"""Word in the names of operators that depend on a matrix's rank, except norms."""


class Adding(QuietMode):
    """Records the longest reduction of a call, whether an operator takes a matrix apart, and
    whether the length of every operator's reductions is known."""

    def __init__(self) -> None:
        super().__init__()
        self.most = 1.0
        self.factorises = False
        self.is_known = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given, results = _tensors((args, kwargs)), _tensors(found)
        name = func.overloadpacket.__name__
        self.factorises |= FACTORISING in name and "norm" not in name
        n = n_added(func, given, results)
        is_moved = moves(func, args, kwargs or {})
        self.is_known &= is_moved or n > 1 or not given or _adds_nothing_else(func)
        self.most = max(self.most, n)
        return found


def _tensors(values: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(values) if isinstance(t, torch.Tensor) and t.numel()]


def _adds_nothing_else(func: Any) -> bool:
    """Whether an operator is elementwise, or a product, whose arithmetic is counted."""
    return torch.Tag.pointwise in func.tags or func.overloadpacket in flop_registry


def n_added(func: Any, given: list[torch.Tensor], results: list[torch.Tensor]) -> float:
    """Return the length of an operator's reduction; zero if it does not add up."""
    n_given, n_results = _sizes(given), _sizes(results)
    adds = any(word in func.overloadpacket.__name__ for word in ADDING)
    return max(n_given) / min(n_results) if adds and n_given and n_results else 0.0


def _sizes(tensors: list[torch.Tensor]) -> list[int]:
    return [t.numel() for t in tensors if t.is_floating_point()]


def count_terms(
    inputs: list[torch.Tensor],
    outputs: list[torch.Tensor],
    flops: int,
    longest: float,
    *,
    is_known: bool = False,
) -> list[float]:
    """Count the terms that each output's numbers may be sums of, in a call with this ``longest``
    reduction.

    Each output is taken as if all arithmetic of the call were for it: beside a large output a loss
    is no shorter a sum. If some operator's reductions are not known, one along the longest axis may
    be among them.
    """
    n_inputs = sum(t.numel() for t in inputs)
    axis = 1 if is_known else max((max(t.shape, default=1) for t in inputs), default=1)
    sizes = [max(1, t.numel()) for t in outputs]
    return [max(flops / (2 * n), n_inputs / n, axis, longest) for n in sizes]


def summation_growth(n_terms: float, *, equal_terms: bool, has_products: bool = True) -> float:
    """Return by how many ulp a sound sum of ``n_terms`` may be off."""
    if equal_terms:
        return min(n_terms / 2, MAX_BIASED_GROWTH if has_products else MAX_BIASED_SUM)
    return min(math.sqrt(n_terms), MAX_GROWTH)


def floor_error(dtype: torch.dtype, growth_ulp: float) -> float:
    """Return the error that any sound implementation may have, whatever the reference's own error
    is."""
    ulp = torch.finfo(dtype).eps / 2
    if dtype == torch.float64:  # of which nobody knows the reference's own
        growth_ulp = max(growth_ulp, FLOAT64_ULP)
    return 2 * ulp + min(ulp, ULP32) * (SUM_ULP + growth_ulp)

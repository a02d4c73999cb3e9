"""How far sums may be off, whatever the order in which their terms are added."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from kernelwright.judge.compare.moving import is_computed, moves

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
MOVED = -SUM_ULP
"""The growth of outputs that only copy input values; it leaves a tolerance of two ulp."""
ULP32 = 2.0**-24
"""Unit roundoff of sums: the library adds narrower types in float32, and float64 in float64."""


ADDING = ("sum", "mean", "var", "std", "norm")
"""Words in the names of operators that add up; norms return their statistics beside the result."""
FACTORISING = "linalg_"
"""Word in the names of operators that depend on a matrix's rank, except norms."""
ASKING = "_local_scalar_dense"
"""The operator that gives Python a number: what follows may differ from call to call."""


@dataclass(frozen=True)
class Terms:
    """How many terms the numbers of each output may be sums of; zero if they are only copied."""

    usual: list[float]
    """Counted by arithmetic and axes."""
    added: list[float]
    """With reductions of single operators, which may span several axes."""


class Adding(TorchDispatchMode):
    """Records the longest reduction that each output depends on, zero for copies of ``inputs``; and
    whether an operator takes a matrix apart, and whether all reductions are known."""

    def __init__(self, inputs: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self._by_memory = dict.fromkeys(map(memory_of, inputs), 0.0)
        self.most = 1.0
        self.factorises = self._is_asked = False
        self.is_known = True

    def of(self, t: torch.Tensor) -> float:
        """The longest reduction that a result depends on."""
        memory = memory_of(t)
        least = 0.0 if memory and not self._is_asked else 1.0
        return max(least, self._by_memory.get(memory, 1.0))

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        given, results = _tensors((args, kwargs)), _tensors(found)
        most = max(map(self.of, given), default=0.0)
        is_moved = moves(func, args, kwargs or {})
        name = func.overloadpacket.__name__
        self._is_asked |= name == ASKING
        self.factorises |= FACTORISING in name and "norm" not in name
        n = n_added(func, given, results)
        self.is_known &= is_moved or n > 1 or not given or _adds_nothing_else(func)
        most = max(most, n)
        self.most = max(self.most, most)
        written = set(map(memory_of, given))
        if func._schema.is_mutable and not is_moved:  # and it may give none of it back
            results = [*results, *given]
        for t in results:  # memory that was given holds what it held before as well
            before = self.of(t) if memory_of(t) in written else 0.0
            least = float(is_computed(t, given, is_moved=is_moved))
            self._by_memory[memory_of(t)] = max(most, before, least)
        return found


def _tensors(values: Any) -> list[torch.Tensor]:
    return [t for t in tree_leaves(values) if isinstance(t, torch.Tensor) and t.numel()]


def memory_of(t: torch.Tensor) -> int:
    """The address of a tensor's memory; zero for tensors without one, as sparse ones."""
    try:
        return t.untyped_storage().data_ptr()
    except (NotImplementedError, RuntimeError):
        return 0


def _adds_nothing_else(func: Any) -> bool:
    """Whether an operator is elementwise, or a product, whose arithmetic is counted."""
    return torch.Tag.pointwise in func.tags or func.overloadpacket in flop_registry


def n_added(func: Any, given: list[torch.Tensor], results: list[torch.Tensor]) -> float:
    """Length of an operator's reduction; zero for operators that do not add up."""
    n_given, n_results = _sizes(given), _sizes(results)
    adds = any(word in func.overloadpacket.__name__ for word in ADDING)
    return max(n_given) / min(n_results) if adds and n_given and n_results else 0.0


def _sizes(tensors: list[torch.Tensor]) -> list[int]:
    return [t.numel() for t in tensors if t.is_floating_point()]


def count_terms(
    inputs: list[torch.Tensor],
    outputs: list[torch.Tensor],
    flops: int,
    n_added: list[float],
    *,
    is_known: bool = False,
) -> Terms:
    """How many terms the numbers of each output may be sums of.

    Each output is taken as if all arithmetic of the call were for it: beside a large output a loss
    is no shorter a sum. Zero where ``n_added`` is. If some operator's reductions are not known, one
    along the longest axis may be among them.
    """
    n_inputs = sum(t.numel() for t in inputs)
    longest = 1 if is_known else max((max(t.shape, default=1) for t in inputs), default=1)
    sizes = [max(1, t.numel()) for t in outputs]
    pairs = zip(sizes, n_added, strict=True)
    usual = [max(flops / (2 * n), n_inputs / n, longest) if added else 0.0 for n, added in pairs]
    return Terms(usual, list(map(max, usual, n_added)))


def summation_growth(n_terms: float, *, equal_terms: bool, has_products: bool = True) -> float:
    """How many ulp a sound sum of ``n_terms`` may be off; MOVED for no terms."""
    if not n_terms:
        return MOVED
    if equal_terms:
        return min(n_terms / 2, MAX_BIASED_GROWTH if has_products else MAX_BIASED_SUM)
    return min(math.sqrt(n_terms), MAX_GROWTH)


def growths(
    counts: list[float], loops: list[float], *, equal_terms: bool, has_products: bool
) -> list[float]:
    """How many ulp each output's sums of ``counts`` terms may be off, and at least as many as plain
    loops over ``loops`` different terms are."""
    how = {"equal_terms": equal_terms, "has_products": has_products}
    usual = (summation_growth(n, **how) for n in counts)
    return list(map(max, usual, (summation_growth(n, equal_terms=False) for n in loops)))


def floor_error(dtype: torch.dtype, growth_ulp: float) -> float:
    """The error that any sound implementation may have, whatever the reference's own error is."""
    ulp = torch.finfo(dtype).eps / 2
    if dtype == torch.float64 and growth_ulp != MOVED:  # of which nobody knows the reference's own
        growth_ulp = max(growth_ulp, FLOAT64_ULP)
    return 2 * ulp + min(ulp, ULP32) * (SUM_ULP + growth_ulp)

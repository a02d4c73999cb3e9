"""A kernel prepared for C++: the fewest axes, the dependencies of values, and the passes."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

from kernelwright.compiler.ir.axes import in_terms_of, joined, longer
from kernelwright.compiler.ir.ir import (
    Axis,
    Compute,
    Const,
    Kernel,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
)
from kernelwright.compiler.ir.ops import arguments, indices, with_indices

# rough number of vector instructions, for choosing between recomputing and keeping a value
COSTS = {
    "exp": 14, "expm1": 16, "log": 16, "log1p": 20, "log2": 16, "tanh": 22, "sigmoid": 18,
    "erf": 24, "sin": 20, "cos": 20, "pow": 50, "atan2": 60, "fmod": 40, "div": 4, "sqrt": 6,
    "rsqrt": 8, "reciprocal": 4,
}  # fmt: skip


def simplified(kernel: Kernel) -> Kernel:
    """Return the same loops without axes of size one, and with neighbouring axes joined where
    possible.

    Outer axes are first ordered by the stride of the stored tensor, largest first.
    """
    stores = [op.index for op in kernel.body if isinstance(op, Store)]

    def stride(axis: Axis) -> int:
        return -max((abs(index.coefficient(axis.name)) for index in stores), default=0)

    used = [index for op in kernel.body for index in indices(op)]
    ordered = sorted(longer(kernel.outer), key=stride)
    outer, outer_names = joined(ordered, used)
    inner, inner_names = joined(longer(kernel.inner), used)
    names = outer_names | inner_names
    body = tuple(with_indices(op, lambda index: in_terms_of(index, names)) for op in kernel.body)
    if kernel.inner and not inner:  # a reduction over one element is still a reduction
        inner = (Axis(kernel.inner[-1].name, 1),)
    return replace(kernel, outer=outer, inner=inner, body=body)


@dataclass(frozen=True)
class Pass:
    """One pass over the inner loops."""

    level: int
    values: tuple[Op, ...]
    """Values computed for every inner element, in order; stores included."""
    reduces: tuple[Reduce, ...]
    kept: tuple[str, ...]
    """Values written to row buffers for later passes."""
    read: tuple[str, ...]
    """Values read from row buffers."""
    reverse: bool = False


@dataclass(frozen=True)
class Nest:
    """A simplified kernel with its analysis.

    The ``level`` of a value is the number of passes over the inner loops that must be complete
    before it can be computed.
    """

    kernel: Kernel

    @cached_property
    def size(self) -> dict[str, int]:
        return {axis.name: axis.size for axis in (*self.kernel.outer, *self.kernel.inner)}

    @cached_property
    def ops(self) -> dict[str, Op]:
        """The kernel's named values."""
        return {op.name: op for op in self.kernel.body if not isinstance(op, Store)}

    @cached_property
    def depends(self) -> dict[str, frozenset[str]]:
        """The axes that each value depends on."""
        inner = frozenset(axis.name for axis in self.kernel.inner)
        found: dict[str, frozenset[str]] = {}
        for name, op in self.ops.items():
            axes = frozenset().union(*(i.axes for i in indices(op)))
            axes = axes.union(*(found[arg] for arg in arguments(op)))
            match op:
                case Reduce():
                    axes = axes - inner
                case Scan():
                    axes = axes | inner
            found[name] = axes
        return found

    def is_inner(self, op: Op) -> bool:
        """Return whether ``op`` runs once for every inner element."""
        if isinstance(op, Store):
            axes = op.index.axes | self.depends[op.value]
        else:
            axes = self.depends[op.name]
        return any(axis.name in axes for axis in self.kernel.inner)

    @cached_property
    def _levels(self) -> tuple[dict[str, int], dict[int, bool]]:
        level: dict[str, int] = {}
        reverse: dict[int, bool] = {}
        for name, op in self.ops.items():
            base = max((level[arg] for arg in arguments(op)), default=0)
            match op:
                case Reduce():
                    base += 1
                case Scan():
                    if any(
                        isinstance(self.ops[a], Scan)
                        for arg in arguments(op)
                        for a in self.sources(arg, base, level)
                    ):
                        base += 1
                    while reverse.setdefault(base, op.reverse) != op.reverse:
                        base += 1
            level[name] = base
        return level, reverse

    def sources(self, name: str, at: int, level: dict[str, int]) -> Iterable[str]:
        """Yield the values of level ``at`` that ``name`` is computed from, itself included."""
        if level[name] == at and self.is_inner(self.ops[name]):
            yield name
            for arg in arguments(self.ops[name]):
                yield from self.sources(arg, at, level)

    @property
    def level(self) -> dict[str, int]:
        return self._levels[0]

    @cached_property
    def n_levels(self) -> int:
        return 1 + max(self.level.values(), default=0)

    @cached_property
    def written(self) -> frozenset[str]:
        return frozenset(tensor.name for tensor in self.kernel.writes)

    def row_ops(self, level: int) -> list[Op]:
        """Return the operations that run once per outer element at ``level``, before that level's
        pass."""
        return [
            op
            for op in self.kernel.body
            if not isinstance(op, (Reduce, Const))
            and not self.is_inner(op)
            and self.level[op.value if isinstance(op, Store) else op.name] == level
        ]

    def passes(self, keep_cost: float) -> list[Pass]:
        """Return the passes over the inner loops.

        A value that a later pass needs is kept in a row buffer if recomputing it costs
        ``keep_cost`` or more. Scans, and loads from a tensor that is written in place, are always
        kept.
        """
        roots: dict[int, list[Op]] = {}
        for op in self.kernel.body:
            match op:
                case Reduce():
                    roots.setdefault(self.level[op.name] - 1, []).append(op)
                case Store() if self.is_inner(op):
                    roots.setdefault(self.level[op.value], []).append(op)
        kept: dict[str, int] = {}
        reads: dict[int, set[str]] = {}
        needed: dict[int, set[str]] = {}
        for level in range(self.n_levels - 1, -1, -1):
            wanted = [a for op in roots.get(level, ()) for a in arguments(op)]
            wanted += [name for name, made_at in kept.items() if made_at == level]
            needed[level], reads[level] = set(), set()
            while wanted:
                name = wanted.pop()
                if not self.is_inner(self.ops[name]) or name in needed[level] | reads[level]:
                    continue
                if self.level[name] < level and self._is_kept(name, keep_cost):
                    kept[name] = self.level[name]
                    reads[level].add(name)
                    continue
                needed[level].add(name)
                wanted += arguments(self.ops[name])
        return [
            self._pass(level, roots.get(level, []), needed[level], reads[level], kept)
            for level in range(self.n_levels)
            if roots.get(level) or level in kept.values()
        ]

    def _pass(
        self, level: int, roots: list[Op], needed: set[str], reads: set[str], kept: dict[str, int]
    ) -> Pass:
        return Pass(
            level,
            tuple(
                op
                for op in self.kernel.body
                if (op in roots if isinstance(op, Store) else op.name in needed)
            ),
            tuple(op for op in roots if isinstance(op, Reduce)),
            tuple(name for name, made_at in kept.items() if made_at == level),
            tuple(sorted(reads)),
            self._levels[1].get(level, False),
        )

    def _is_kept(self, name: str, keep_cost: float) -> bool:
        op = self.ops[name]
        if isinstance(op, Scan) or (isinstance(op, Load) and op.tensor.name in self.written):
            return True
        return self.cost(name) >= keep_cost

    def cost(self, name: str) -> float:
        """Return the rough number of vector instructions to compute an inner value from memory."""
        seen: set[str] = set()
        wanted, total = [name], 0.0
        while wanted:
            op = self.ops[wanted.pop()]
            if op.name in seen or not self.is_inner(op):
                continue
            seen.add(op.name)
            wanted += arguments(op)
            match op:
                case Load():
                    total += 1 + 4 * bool(op.bounds or op.gather)
                case Compute():
                    total += COSTS.get(op.op, 1)
        return total

    @cached_property
    def n_inner(self) -> int:
        return math.prod(axis.size for axis in self.kernel.inner)

    @cached_property
    def n_outer(self) -> int:
        return math.prod(axis.size for axis in self.kernel.outer)

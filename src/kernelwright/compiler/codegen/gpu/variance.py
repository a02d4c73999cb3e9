"""Sums of squared distances from a mean, computed in parts. Each part uses its own mean, so that
the values are read once, and the distances of the parts' means from the overall mean are added
afterwards.

Source: T. F. Chan, G. H. Golub and R. J. LeVeque, Updating Formulae and a Pairwise Algorithm for
Computing Sample Variances, 1979, equation 2.1 for any number of parts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelwright.compiler.codegen.gpu.axes import cone, size_of
from kernelwright.compiler.ir.ir import Compute, Const, Kernel, Load, Op, Reduce, Store

_TYPE = "float32"


@dataclass(frozen=True)
class Spread:
    """The sum of squared distances of values from their mean."""

    total: Reduce
    first: Reduce
    """The sum of the values, which may be differences from one of them."""
    mean: str

    def of_part(self, size: int) -> tuple[list[Op], str]:
        """Return the ops of the sum within a part of ``size`` values, and its name; the part's own
        sum of values is known."""
        name, square = self.total.name, f"{self.total.name}_square"
        own, far = f"{name}_own_mean", f"{name}_distance"
        ops: list[Op] = [
            Const(f"{name}_count", float(size), _TYPE),
            Compute(own, "div", (f"{self.first.name}_part", f"{name}_count"), _TYPE),
            Compute(far, "sub", (self.first.arg, own), _TYPE),
            Compute(square, "mul", (far, far), _TYPE),
        ]
        return ops, square

    def of_parts(self, kernel: Kernel, loaded: Load, size: int) -> list[Op]:
        """Return the ops of ``kernel``'s whole sum from the sums of parts, which are ``loaded``.
        The parts' sums of values, and the overall sum of values, are known."""
        under = cone(kernel.body, [self.mean], stop=frozenset({self.first.name}))
        mean = [op for op in kernel.body if not isinstance(op, Store) and op.name in under]
        name = self.total.name
        own, far, square, more, whole = (
            f"{name}_{word}" for word in ("own_mean", "distance", "square", "more", "of_part")
        )
        return [
            *mean,
            loaded,
            Const(f"{name}_count", float(size), _TYPE),
            Compute(own, "div", (f"{self.first.name}_parts", f"{name}_count"), _TYPE),
            Compute(far, "sub", (own, self.mean), _TYPE),
            Compute(square, "mul", (far, far), _TYPE),
            Compute(more, "mul", (square, f"{name}_count"), _TYPE),
            Compute(whole, "add", (loaded.name, more), _TYPE),
            replace(self.total, arg=whole),
        ]


def spreads(kernel: Kernel, level: Mapping[str, int]) -> list[Spread]:
    """Return the sums of squared distances of the second pass, if all its sums are such and there
    is no third pass."""
    by_name = {op.name: op for op in kernel.body if not isinstance(op, Store)}
    reduces = [op for op in by_name.values() if isinstance(op, Reduce)]
    found = [_spread(op, by_name, kernel) for op in reduces if level[op.name] > 1]
    known = [spread for spread in found if spread is not None]
    is_all = len(known) == len(found) and max(level[op.name] for op in reduces) == 2
    return known if is_all else []


def _spread(op: Reduce, by_name: Mapping[str, Op], kernel: Kernel) -> Spread | None:
    square = by_name[op.arg]
    if not isinstance(square, Compute) or (op.op, op.dtype) != ("sum", _TYPE):
        return None
    is_square = square.op == "square" or (square.op == "mul" and len(set(square.args)) == 1)
    far = by_name[square.args[0]]
    if not is_square or not isinstance(far, Compute) or far.op != "sub":
        return None
    mean = by_name[far.args[1]]
    if not isinstance(mean, Compute) or mean.op != "div":
        return None
    first, count = (by_name[name] for name in mean.args)
    is_mean = isinstance(first, Reduce) and (first.op, first.dtype) == ("sum", _TYPE)
    is_mean = is_mean and isinstance(count, Const) and count.value == size_of(kernel.inner)
    if not is_mean or not isinstance(first, Reduce) or first.arg != far.args[0]:
        return None
    return Spread(op, first, mean.name)

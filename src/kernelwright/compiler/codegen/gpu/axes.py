"""Rewrites of loop nests before GPU emission: fewer axes, shifted scans, small products as loops.

Everything here maps a step to an equivalent one that is simpler for the emitters.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace

from kernelwright.compiler.ir.axes import in_terms_of, joined, longer
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Bound,
    Compute,
    Const,
    Contraction,
    Iota,
    Kernel,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
    Tensor,
)
from kernelwright.compiler.ir.ops import arguments, indices, with_indices, with_names

TILED = frozenset({"float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2"})
"""Types of operands that are multiplied in tiles."""
SCAN_START = {"sum": 0, "decay": 0, "prod": 1, "max": -math.inf, "min": math.inf}


def size_of(axes: Iterable[Axis]) -> int:
    """Return the number of points of a loop nest."""
    return math.prod(axis.size for axis in axes)


def tensors_of(kernel: Kernel) -> tuple[Tensor, ...]:
    """Return the tensors that a kernel is passed, each once: those it reads, then those it
    writes."""
    return tuple({t.name: t for t in (*kernel.reads, *kernel.writes)}.values())


def cone(
    body: tuple[Op, ...], roots: Iterable[str], stop: frozenset[str] = frozenset()
) -> set[str]:
    """Return the named values that ``roots`` are computed from, themselves included, down to
    ``stop``."""
    by_name = {op.name: op for op in body if not isinstance(op, Store)}
    found: set[str] = set()
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name in found or name in stop or name not in by_name:
            continue
        found.add(name)
        pending.extend(arguments(by_name[name]))
    return found


def collapse(kernel: Kernel) -> Kernel:
    """Return ``kernel`` with its outer axes in the order of memory, and neighbouring axes joined
    where every index expression allows it.

    Axes of size one are removed. The order of the inner axes is kept, so argmax keeps its meaning.
    """
    used = [e for op in kernel.body for e in indices(op)]
    outer, outer_names = joined(in_memory_order(kernel), used)
    inner, inner_names = joined(longer(kernel.inner), used)
    names = outer_names | inner_names
    body = tuple(with_indices(op, lambda index: in_terms_of(index, names)) for op in kernel.body)
    if kernel.inner and not inner:
        inner = (Axis(kernel.inner[-1].name, 1),)
    return replace(kernel, outer=outer, inner=inner, body=body)


def in_memory_order(kernel: Kernel) -> list[Axis]:
    """Return the outer axes longer than one, the last of them the one along which most of the
    memory that the kernel reads and writes is contiguous: neighbouring threads then share cache
    lines, with channels last too. Axes stay in their order if the last one is so already.
    """
    axes = longer(kernel.outer)
    names = {axis.name for axis in axes}
    points = {axis.name: axis.size for axis in (*kernel.outer, *kernel.inner)}
    accesses = {
        (op.tensor.name, op.index): math.prod(points[name] for name in op.index.axes)
        for op in kernel.body
        if isinstance(op, (Load, Store)) and not (isinstance(op, Load) and op.gather)
    }
    along: dict[str, list[tuple[int, Affine]]] = {}
    for (_, index), n_points in accesses.items():
        nearest = next((a for a, c in index.terms if a in names and abs(c) == 1), None)
        if nearest is not None:
            along.setdefault(nearest, []).append((n_points, index))
    if not along:
        return axes
    last = max(along, key=lambda a: (sum(n for n, _ in along[a]), a == axes[-1].name))
    if last == axes[-1].name:
        return axes
    _, index = max(along[last], key=lambda found: found[0])
    far = [a for a in axes if not index.coefficient(a.name)]
    near = [a for a in axes if index.coefficient(a.name)]
    return far + sorted(near, key=lambda axis: -abs(index.coefficient(axis.name)))


def inclusive(kernel: Kernel) -> Kernel:
    """Return ``kernel`` with exclusive scans turned into inclusive scans of the argument one
    position earlier."""
    body = kernel.body
    for scan in [op for op in body if isinstance(op, Scan) and op.exclusive]:
        body = _shifted(body, scan, kernel.inner[0])
    return replace(kernel, body=body)


def _shifted(body: tuple[Op, ...], scan: Scan, axis: Axis) -> tuple[Op, ...]:
    """Return ``body`` with ``scan`` running over a copy of its argument's values, shifted by
    one."""
    step = 1 if scan.reverse else -1
    position = Affine.of({axis.name: 1}, step)

    def change(index: Affine) -> Affine:
        return replace(index, offset=index.offset + step * index.coefficient(axis.name))

    def before(name: str) -> str:
        return f"{name}_before_{scan.name}" if name in names else name

    inner = {name for name, s in Kernel("", (), (axis,), body).scopes().items() if s == "inner"}
    names = cone(body, [scan.arg]) & inner
    shifted: list[Op] = []
    for op in body:
        if isinstance(op, Store) or op.name not in names:
            continue
        copy = with_indices(op, change)
        if isinstance(copy, Load):
            copy = replace(copy, bounds=(*copy.bounds, Bound(position, 0, axis.size)))
        shifted.append(with_names(copy, before))
    first, start, edge, inside, arg = (
        f"{scan.name}_{part}" for part in ("position", "start", "edge", "inside", "arg")
    )
    value = scan.arg + f"_before_{scan.name}" if scan.arg in names else scan.arg
    limit = axis.size if scan.reverse else 0
    guard: list[Op] = [
        Iota(first, position),
        Const(edge, limit, "int64"),
        Const(start, start_value(scan.op, scan.dtype), scan.dtype),
        Compute(inside, "lt" if scan.reverse else "ge", (first, edge), "bool"),
        Compute(arg, "where", (inside, value, start), scan.dtype),
        replace(scan, arg=arg, exclusive=False),
    ]
    at = body.index(scan)
    return (*body[:at], *shifted, *guard, *body[at + 1 :])


def start_value(op: str, dtype: str) -> float | int:
    """Return the value that a scan with ``op`` holds before its first element."""
    value = SCAN_START[op]
    if dtype.startswith("float") or dtype == "bfloat16":
        return float(value)
    largest = 2 ** (63 if dtype == "int64" else 31) - 1
    return int(value) if math.isfinite(value) else (largest if value > 0 else -largest - 1)


def is_thin(step: Contraction) -> bool:
    """Return whether tiles on tensor cores do not suit the step: a matrix times a vector, or
    float64."""
    if not {*step.operand_dtypes} <= TILED:
        return True
    return step.is_in_memory and min(size_of(step.m), size_of(step.n)) < 4


def as_loops(step: Contraction) -> Kernel:
    """Return the contraction as a plain reduction. This suits a matrix times a vector, which is
    bound by memory and gains nothing from tiles.

    Not covered: transposed convolutions, whose positions no index expression gives, operands that
    are computed, groups of rows, and totals of parts.
    """
    wide = "float64" if step.a.tensor.dtype == "float64" else "float32"
    factors = dict(zip(("b", "twin"), step.sums, strict=False))
    product: list[Op] = [
        replace(step.a, name="a"),  # both may be parts of one tensor
        *(replace(load, name=b) for b, (_, load) in factors.items()),
        *(Compute(f"{x}_wide", "cast", (x,), wide) for x in ("a", *factors)),
    ]
    for b, (word, _) in factors.items():
        if step.k:
            product.append(Compute(f"a_times_{b}", "mul", ("a_wide", f"{b}_wide"), wide))
            product.append(Reduce(word, "sum", f"a_times_{b}", wide))
        else:  # a sum of one product
            product.append(Compute(word, "mul", ("a_wide", f"{b}_wide"), wide))
    outer = (*step.batch, *step.m, *step.n)
    return Kernel(step.name, outer, step.k, (*product, *step.body), step.origin)


def split_axis(
    op: Op, axis: str, pieces: Mapping[str, int], size: int, *, covers_exactly: bool
) -> Op:
    """Return ``op`` with ``axis`` written as a sum of other axes with coefficients ``pieces``.

    If the pieces cover more than ``size`` points, loads get a bound.
    """

    def change(index: Affine) -> Affine:
        coefficient = index.coefficient(axis)
        terms = {a: c for a, c in index.terms if a != axis}
        for piece, factor in pieces.items():
            terms[piece] = coefficient * factor
        return Affine.of(terms, index.offset)

    touched = any(e.coefficient(axis) for e in indices(op))
    result = with_indices(op, change)
    if touched and isinstance(result, Load) and not covers_exactly:
        whole = Affine.of(dict(pieces))
        return replace(result, bounds=(*result.bounds, Bound(whole, 0, size)))
    return result

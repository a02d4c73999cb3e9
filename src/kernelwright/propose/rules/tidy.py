"""Tidying of kernels: dead values dropped, adjacent axes merged, axes renamed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernelwright.propose.rules.ir import (
    Affine,
    Axis,
    Compute,
    Iota,
    Kernel,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
)


def tidy(kernel: Kernel) -> Kernel:
    """The same kernel in its simplest form: i0, i1, ... outside and r0, r1, ... inside."""
    kernel = replace(kernel, body=_live(kernel.body))
    if not any(isinstance(op, Scan) for op in kernel.body):
        kernel = _merged(kernel)
    names = {axis.name: f"i{n}" for n, axis in enumerate(kernel.outer)}
    names |= {axis.name: f"r{n}" for n, axis in enumerate(kernel.inner)}
    kernel = _with_indices(kernel, lambda index: _renamed(index, names))
    outer, inner = (
        tuple(Axis(names[axis.name], axis.size) for axis in axes)
        for axes in (kernel.outer, kernel.inner)
    )
    return replace(kernel, outer=outer, inner=inner, body=_numbered(kernel.body))


def _numbered(body: tuple[Op, ...]) -> tuple[Op, ...]:
    """Values named by what they are and where they stand: exp_3 is an exp, defined fourth."""
    names: dict[str, str] = {}
    renamed: list[Op] = []
    for position, op in enumerate(body):
        match op:
            case Compute():
                op = replace(op, args=tuple(names[arg] for arg in op.args))
            case Reduce() | Scan():
                op = replace(op, arg=names[op.arg])
            case Store():
                op = replace(op, value=names[op.value])
            case Load():
                op = replace(op, gather=tuple((names[v], stride) for v, stride in op.gather))
        if not isinstance(op, Store):
            names[op.name] = f"{op.name.rpartition('_')[0]}_{position}"
            op = replace(op, name=names[op.name])
        renamed.append(op)
    return tuple(renamed)


def uses(op: Op) -> tuple[str, ...]:
    """The values that ``op`` reads."""
    match op:
        case Compute():
            return op.args
        case Reduce() | Scan():
            return (op.arg,)
        case Store():
            return (op.value,)
        case Load():
            return tuple(name for name, _ in op.gather)
    return ()


def indices(op: Op) -> tuple[Affine, ...]:
    """The index expressions in ``op``."""
    match op:
        case Load():
            return (op.index, *(bound.index for bound in op.bounds))
        case Iota() | Store():
            return (op.index,)
    return ()


def _live(body: tuple[Op, ...]) -> tuple[Op, ...]:
    live: set[str] = set()
    kept: list[Op] = []
    for op in reversed(body):
        if isinstance(op, Store) or op.name in live:
            live.update(uses(op))
            kept.append(op)
    return tuple(reversed(kept))


def _merged(kernel: Kernel) -> Kernel:
    """Neighbouring axes that every index runs through as one become one.

    A pair need not be adjacent in the list: loops in one group may be exchanged. argmax counts
    positions in the order of the inner axes, which merging neighbours keeps.
    """
    for group in ("outer", "inner"):
        axes: list[Axis] = list(getattr(kernel, group))
        n = 0
        while n + 1 < len(axes):
            slow, fast = axes[n], axes[n + 1]
            if not _runs_as_one(kernel, slow, fast):
                n += 1
                continue
            axes[n : n + 2] = [Axis(slow.name, slow.size * fast.size)]
            merged = _with_indices(kernel, lambda i, a=slow.name, b=fast.name: _absorbed(i, a, b))
            kernel = replace(merged, **{group: tuple(axes)})
            n = max(n - 1, 0)
    return kernel


def _runs_as_one(kernel: Kernel, slow: Axis, fast: Axis) -> bool:
    return all(
        index.coefficient(slow.name) == index.coefficient(fast.name) * fast.size
        for op in kernel.body
        for index in indices(op)
    )


def _absorbed(index: Affine, slow: str, fast: str) -> Affine:
    terms = dict(index.terms)
    terms[slow] = terms.pop(fast, 0)
    return Affine.of(terms, index.offset)


def _renamed(index: Affine, names: dict[str, str]) -> Affine:
    return Affine.of({names[axis]: c for axis, c in index.terms}, index.offset)


def _with_indices(kernel: Kernel, change: Callable[[Affine], Affine]) -> Kernel:
    body: list[Op] = []
    for op in kernel.body:
        match op:
            case Load():
                bounds = tuple(replace(b, index=change(b.index)) for b in op.bounds)
                op = replace(op, index=change(op.index), bounds=bounds)
            case Iota() | Store():
                op = replace(op, index=change(op.index))
        body.append(op)
    return replace(kernel, body=tuple(body))

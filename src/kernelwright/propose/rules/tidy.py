"""Tidying of loop nests: dead values dropped, adjacent axes merged, names made plain."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from kernelwright.propose.rules.ir import (
    Affine,
    Axis,
    Compute,
    Contraction,
    Iota,
    Kernel,
    Load,
    Op,
    Reduce,
    Scan,
    Store,
)

Nest = TypeVar("Nest", Kernel, Contraction)
_LETTERS = {"outer": "i", "inner": "r", "batch": "b", "m": "m", "n": "n", "k": "k"}


def tidy(nest: Nest) -> Nest:
    """The same loop nest in its simplest form; axes are named by group, i0, i1, ... r0, r1, ..."""
    nest = replace(nest, body=_live(nest.body))
    if not any(isinstance(op, Scan) for op in nest.body):
        for group in _groups(nest):
            nest = _merged(nest, group)
    names = {
        axis.name: f"{_LETTERS[group]}{position}"
        for group in _groups(nest)
        for position, axis in enumerate(getattr(nest, group))
    }
    nest = _with_indices(nest, lambda index: _renamed(index, names))
    axes: dict[str, Any] = {
        group: tuple(Axis(names[axis.name], axis.size) for axis in getattr(nest, group))
        for group in _groups(nest)
    }
    return replace(nest, **axes, body=_numbered(nest.body))


def _groups(nest: Kernel | Contraction) -> tuple[str, ...]:
    return ("outer", "inner") if isinstance(nest, Kernel) else ("batch", "m", "n", "k")


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


def _merged(nest: Nest, group: str) -> Nest:
    """Neighbouring axes that every index runs through as one become one."""
    axes: list[Axis] = list(getattr(nest, group))
    n = 0
    while n + 1 < len(axes):
        slow, fast = axes[n], axes[n + 1]
        if not _runs_as_one(nest, slow, fast):
            n += 1
            continue
        axes[n : n + 2] = [Axis(slow.name, slow.size * fast.size)]
        nest = _with_indices(nest, lambda i, a=slow.name, b=fast.name: _absorbed(i, a, b))
        n = max(n - 1, 0)
    merged: dict[str, Any] = {group: tuple(axes)}
    return replace(nest, **merged)


def _runs_as_one(nest: Kernel | Contraction, slow: Axis, fast: Axis) -> bool:
    ops = nest.body if isinstance(nest, Kernel) else (nest.a, nest.b, *nest.body)
    return all(
        index.coefficient(slow.name) == index.coefficient(fast.name) * fast.size
        for op in ops
        for index in indices(op)
    )


def _absorbed(index: Affine, slow: str, fast: str) -> Affine:
    terms = dict(index.terms)
    terms[slow] = terms.pop(fast, 0)
    return Affine.of(terms, index.offset)


def _renamed(index: Affine, names: dict[str, str]) -> Affine:
    return Affine.of({names[axis]: c for axis, c in index.terms}, index.offset)


def _with_indices(nest: Nest, change: Callable[[Affine], Affine]) -> Nest:
    body = tuple(_with_index(op, change) for op in nest.body)
    if isinstance(nest, Kernel):
        return replace(nest, body=body)
    return replace(nest, body=body, a=_with_index(nest.a, change), b=_with_index(nest.b, change))


def _with_index(op: Any, change: Callable[[Affine], Affine]) -> Any:
    match op:
        case Load():
            bounds = tuple(replace(b, index=change(b.index)) for b in op.bounds)
            return replace(op, index=change(op.index), bounds=bounds)
        case Iota() | Store():
            return replace(op, index=change(op.index))
    return op


def _numbered(body: tuple[Op, ...]) -> tuple[Op, ...]:
    """Values named by what they are and where they stand: exp_3 is an exp, defined fourth."""
    names: dict[str, str] = {"acc": "acc"}
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

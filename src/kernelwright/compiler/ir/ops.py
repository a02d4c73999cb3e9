"""Operations of a loop nest: the values each one reads, its index expressions, and renamed
copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar

from kernelwright.compiler.ir.ir import (
    Affine,
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
    Stretch,
    Tensor,
)

AnyOp = TypeVar("AnyOp", bound=Op)


def arguments(op: Op) -> tuple[str, ...]:
    """Return the named values that ``op`` reads."""
    match op:
        case Load():
            return tuple(value for value, _ in op.gather)
        case Compute():
            return op.args
        case Reduce():
            return (op.arg,)
        case Scan():
            return (op.arg, op.factor) if op.factor else (op.arg,)
        case Store():
            return (op.value,)
    return ()


def indices(op: Op) -> tuple[Affine, ...]:
    """Return the index expressions in ``op``."""
    match op:
        case Load():
            return (op.index, *(bound.index for bound in op.bounds))
        case Iota() | Store():
            return (op.index,)
    return ()


def with_indices(op: AnyOp, change: Callable[[Affine], Affine]) -> AnyOp:
    """Return ``op`` with ``change`` applied to every index expression."""
    match op:
        case Load():
            bounds = tuple(replace(b, index=change(b.index)) for b in op.bounds)
            return replace(op, index=change(op.index), bounds=bounds)
        case Iota() | Store():
            return replace(op, index=change(op.index))
    return op


def with_names(
    op: AnyOp, value: Callable[[str], str], tensor: Callable[[str], str] = lambda name: name
) -> AnyOp:
    """Return ``op`` with its values, and its tensor if it has one, renamed."""

    def named(given: Tensor) -> Tensor:
        return replace(given, name=tensor(given.name))

    other: Any = op
    match op:
        case Load():
            gather = tuple((value(name), stride) for name, stride in op.gather)
            other = replace(op, name=value(op.name), tensor=named(op.tensor), gather=gather)
        case Compute():
            other = replace(op, name=value(op.name), args=tuple(map(value, op.args)))
        case Reduce():
            other = replace(op, name=value(op.name), arg=value(op.arg))
        case Scan():
            factor = value(op.factor) if op.factor else ""
            other = replace(op, name=value(op.name), arg=value(op.arg), factor=factor)
        case Iota() | Const():
            other = replace(op, name=value(op.name))
        case Store():
            other = replace(op, tensor=named(op.tensor), value=value(op.value))
    return other


Nest = TypeVar("Nest", Kernel, Contraction)


def mapped(nest: Nest, change: Callable[[Any], Any]) -> Nest:
    """Return a loop nest with ``change`` applied to each of its operations."""
    if isinstance(nest, Kernel):
        return replace(nest, body=tuple(map(change, nest.body)))
    parts = {name: tuple(map(change, getattr(nest, name))) for name in _PARTS}
    twin = change(nest.twin) if nest.twin else None
    return replace(nest, a=change(nest.a), b=change(nest.b), twin=twin, **parts)


_PARTS = ("a_made", "b_made", "body")


def with_tensors_named(nest: Nest, change: Callable[[Tensor], Tensor]) -> Nest:
    """Return a loop nest with ``change`` applied to each of its tensors."""

    def op_(op: Any) -> Any:
        return replace(op, tensor=change(op.tensor)) if isinstance(op, (Load, Store)) else op

    nest = mapped(nest, op_)
    if isinstance(nest, Contraction) and nest.groups:
        groups = replace(nest.groups, ends=change(nest.groups.ends))
        return replace(nest, groups=groups)
    return nest


def stretches_named(
    stretches: tuple[Stretch, ...], name: Callable[[str], str]
) -> tuple[Stretch, ...]:
    """Return stretches over renamed axes."""
    return tuple(replace(s, out=name(s.out), tap=name(s.tap)) for s in stretches)


def has_indices(step: Kernel | Contraction) -> bool:
    """Whether the step looks numbers up at positions that it is given."""
    ops = step.body if isinstance(step, Kernel) else step.ops
    return any(isinstance(op, Compute) and op.op == "within" for op in ops)

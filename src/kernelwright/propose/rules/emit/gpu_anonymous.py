"""Steps without their names, so that two that do the same to different tensors compare equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from kernelwright.propose.rules.emit.gpu_axes import map_affine
from kernelwright.propose.rules.ir import (
    Affine,
    Axis,
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


def anonymous(step: Kernel | Contraction, name: str) -> Kernel | Contraction:
    """``step`` as ``name``, with its tensors, values and axes numbered in order of appearance."""
    tensors = _numbering("t")
    values = _numbering("v", {"acc": "acc"})
    axes = _numbering("i")

    def axes_(group: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(axes(axis.name), axis.size) for axis in group)

    def op_(op: Op) -> Op:
        def affine(index: Affine) -> Affine:
            return Affine.of({axes(a): c for a, c in index.terms}, index.offset)

        return _renamed(map_affine(op, affine), values, tensors)

    if isinstance(step, Kernel):
        outer, inner = axes_(step.outer), axes_(step.inner)
        return Kernel(name, outer, inner, tuple(map(op_, step.body)))
    groups = [axes_(group) for group in (step.batch, step.m, step.n, step.k)]
    a, b = op_(step.a), op_(step.b)
    assert isinstance(a, Load) and isinstance(b, Load)
    return Contraction(name, *groups, a, b, tuple(map(op_, step.body)))


def _numbering(letter: str, fixed: dict[str, str] | None = None) -> Callable[[str], str]:
    known = dict(fixed or {})
    return lambda name: known.setdefault(name, f"{letter}{len(known)}")


def _renamed(op: Op, value: Callable[[str], str], tensor: Callable[[str], str]) -> Op:
    def tensor_(given: Tensor) -> Tensor:
        return replace(given, name=tensor(given.name))

    match op:
        case Load():
            gather = tuple((value(name), stride) for name, stride in op.gather)
            return replace(op, name=value(op.name), tensor=tensor_(op.tensor), gather=gather)
        case Compute():
            return replace(op, name=value(op.name), args=tuple(map(value, op.args)))
        case Reduce() | Scan():
            return replace(op, name=value(op.name), arg=value(op.arg))
        case Iota() | Const():
            return replace(op, name=value(op.name))
        case Store():
            return replace(op, tensor=tensor_(op.tensor), value=value(op.value))

"""Steps with their names replaced, so that two steps with the same computation compare equal."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from kernelwright.compiler.ir.ir import (
    Affine,
    Attention,
    Axis,
    Contraction,
    Kernel,
    Recurrence,
    Tensor,
)
from kernelwright.compiler.ir.ops import (
    AnyOp,
    mapped,
    stretches_named,
    with_indices,
    with_names,
)
from kernelwright.compiler.ir.whole import with_tensors


def anonymous(
    step: Kernel | Contraction | Recurrence | Attention, name: str, *, keep_axes: bool = False
) -> Kernel | Contraction | Recurrence | Attention:
    """Return ``step`` as ``name``, with its tensors, values and axes numbered in order of
    appearance.

    With ``keep_axes``, axes keep their names, because the step's knobs refer to them.
    """
    tensors = _numbering("t")
    sums = [word for word, _ in step.sums] if isinstance(step, Contraction) else ["acc"]
    values = _numbering("v", {word: word for word in sums})
    axes = str if keep_axes else _numbering("i")

    def axes_(group: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(axes(axis.name), axis.size) for axis in group)

    def index_(index: Affine) -> Affine:
        return Affine.of({axes(a): c for a, c in index.terms}, index.offset)

    def op_(op: AnyOp) -> AnyOp:
        return with_names(with_indices(op, index_), values, tensors)

    if isinstance(step, (Recurrence, Attention)):
        numbered = with_tensors(step, lambda t: Tensor(tensors(t.name), *_kind(t)), name)
        return replace(numbered, origin=())
    if isinstance(step, Kernel):
        outer, inner = axes_(step.outer), axes_(step.inner)
        return Kernel(name, outer, inner, tuple(map(op_, step.body)))
    names = ("batch", "m", "n", "k")
    sides: dict[str, Any] = {side: axes_(getattr(step, side)) for side in names}
    sides["stretches"] = stretches_named(step.stretches, axes)
    if step.groups:
        ends = replace(step.groups.ends, name=tensors(step.groups.ends.name))
        sides["groups"] = replace(step.groups, ends=ends)
    return replace(mapped(step, op_), name=name, origin=(), **sides)


def _kind(tensor: Tensor) -> tuple[tuple[int, ...], str, tuple[int, ...]]:
    return tensor.shape, tensor.dtype, tensor.strides


def _numbering(letter: str, fixed: dict[str, str] | None = None) -> Callable[[str], str]:
    known = dict(fixed or {})
    return lambda name: known.setdefault(name, f"{letter}{len(known)}")

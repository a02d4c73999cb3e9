"""Steps without their names, so that two that do the same to different tensors compare equal."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.propose.rules.ir import Affine, Axis, Contraction, Kernel
from kernelwright.propose.rules.ops import AnyOp, stretches_named, with_indices, with_names


def anonymous(
    step: Kernel | Contraction, name: str, *, keep_axes: bool = False
) -> Kernel | Contraction:
    """``step`` as ``name``, with its tensors, values and axes numbered in order of appearance.

    ``keep_axes``: axes keep their names, where knobs speak of them.
    """
    tensors = _numbering("t")
    values = _numbering("v", {"acc": "acc"})
    axes = str if keep_axes else _numbering("i")

    def axes_(group: tuple[Axis, ...]) -> tuple[Axis, ...]:
        return tuple(Axis(axes(axis.name), axis.size) for axis in group)

    def index_(index: Affine) -> Affine:
        return Affine.of({axes(a): c for a, c in index.terms}, index.offset)

    def op_(op: AnyOp) -> AnyOp:
        return with_names(with_indices(op, index_), values, tensors)

    if isinstance(step, Kernel):
        outer, inner = axes_(step.outer), axes_(step.inner)
        return Kernel(name, outer, inner, tuple(map(op_, step.body)))
    groups = [axes_(group) for group in (step.batch, step.m, step.n, step.k)]
    a, b, body = op_(step.a), op_(step.b), tuple(map(op_, step.body))
    stretches = stretches_named(step.stretches, axes)
    return Contraction(name, *groups, a, b, body, stretches=stretches, tf32=step.tf32)


def _numbering(letter: str, fixed: dict[str, str] | None = None) -> Callable[[str], str]:
    known = dict(fixed or {})
    return lambda name: known.setdefault(name, f"{letter}{len(known)}")

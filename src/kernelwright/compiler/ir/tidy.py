"""Simplification of loop nests: dead values are dropped, neighbouring axes joined, and names made
plain."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kernelwright.compiler.ir.axes import in_terms_of, joined
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Contraction,
    Kernel,
    Op,
    Scan,
    Store,
)
from kernelwright.compiler.ir.ops import (
    Nest,
    arguments,
    indices,
    mapped,
    stretches_named,
    with_indices,
    with_names,
)

_LETTERS = {"outer": "i", "inner": "r", "batch": "b", "m": "m", "n": "n", "k": "k"}


def tidy(nest: Nest) -> Nest:
    """Return the same loop nest in its simplest form; axes are named by group, i0, i1, ... r0, r1,
    ..."""
    nest = replace(nest, body=_live(nest.body))
    if not any(isinstance(op, Scan) for op in nest.body):
        nest = _joined(nest)
    names = {
        axis.name: f"{_LETTERS[group]}{position}"
        for group in _groups(nest)
        for position, axis in enumerate(getattr(nest, group))
    }
    nest = mapped(nest, lambda op: with_indices(op, lambda index: in_terms_of(index, names)))
    if isinstance(nest, Contraction):
        nest = replace(nest, stretches=stretches_named(nest.stretches, names.__getitem__))
    axes: dict[str, Any] = {
        group: tuple(Axis(names[axis.name], axis.size) for axis in getattr(nest, group))
        for group in _groups(nest)
    }
    return replace(nest, **axes, body=_numbered(nest.body))


def _groups(nest: Kernel | Contraction) -> tuple[str, ...]:
    return ("outer", "inner") if isinstance(nest, Kernel) else ("batch", "m", "n", "k")


def _live(body: tuple[Op, ...]) -> tuple[Op, ...]:
    live: set[str] = set()
    kept: list[Op] = []
    for op in reversed(body):
        if isinstance(op, Store) or op.name in live:
            live.update(arguments(op))
            kept.append(op)
    return tuple(reversed(kept))


def _joined(nest: Nest) -> Nest:
    """Return the same nest with the axes of each group joined where every index allows it."""
    ops = nest.body if isinstance(nest, Kernel) else nest.ops
    used = [index for op in ops for index in indices(op)]
    if isinstance(nest, Contraction):  # stretched axes are not joined
        used += [Affine(((n, 1),)) for s in nest.stretches for n in (s.out, s.tap)]
    axes: dict[str, Any] = {}
    names: dict[str, str] = {}
    for group in _groups(nest):
        axes[group], kept = joined(getattr(nest, group), used)
        names |= kept
    if isinstance(nest, Contraction):
        axes["stretches"] = stretches_named(nest.stretches, names.__getitem__)
    nest = mapped(nest, lambda op: with_indices(op, lambda index: in_terms_of(index, names)))
    return replace(nest, **axes)


def _numbered(body: tuple[Op, ...]) -> tuple[Op, ...]:
    """Rename values by their operator and position: exp_3 is an exp, defined fourth."""
    names: dict[str, str] = {"acc": "acc", "acc_twin": "acc_twin"}
    renamed: list[Op] = []
    for position, op in enumerate(body):
        if not isinstance(op, Store):
            names[op.name] = f"{op.name.rpartition('_')[0]}_{position}"
        renamed.append(with_names(op, names.__getitem__))
    return tuple(renamed)

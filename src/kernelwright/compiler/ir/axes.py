"""Joining of neighbouring axes of a loop nest that every index traverses as if they were one."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from kernelwright.compiler.ir.ir import Affine, Axis
from kernelwright.compiler.ir.sizes import are_same, is_free


def longer(axes: Iterable[Axis]) -> list[Axis]:
    """Return the axes without those of size one; a free size may be another in the next call."""
    return [axis for axis in axes if axis.size != 1 or is_free(axis.size)]


def joined(axes: Iterable[Axis], used: Iterable[Affine]) -> tuple[tuple[Axis, ...], dict[str, str]]:
    """Return the joined axes, and a map from each old axis whose terms stay to its new name.

    Of the axes that become one, only the innermost's terms stay: they imply those of the others.
    """
    used = tuple(used)
    groups: list[list[Axis]] = []
    for axis in axes:
        if groups and all(
            are_same(
                index.coefficient(groups[-1][-1].name), index.coefficient(axis.name) * axis.size
            )
            for index in used
        ):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    whole = tuple(
        Axis("_".join(axis.name for axis in group), math.prod(axis.size for axis in group))
        for group in groups
    )
    return whole, {group[-1].name: axis.name for group, axis in zip(groups, whole, strict=True)}


def in_terms_of(index: Affine, names: Mapping[str, str]) -> Affine:
    """Return ``index`` with its axes renamed, without the terms of axes that ``names`` lacks."""
    return Affine.of({names[a]: c for a, c in index.terms if a in names}, index.offset)

"""Index expressions as text; Python and C++ write them alike but for division."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelwright.compiler.ir.ir import Affine, Axis

_ATOM = re.compile(r"\w+(\[[^\]]*\])?|\([^()]*\)")


def affine(index: Affine, axis_text: Mapping[str, str]) -> str:
    """An index expression as text; larger strides first."""
    parts = []
    for axis, coefficient in sorted(index.terms, key=lambda term: -abs(term[1])):
        text = grouped(axis_text[axis])
        parts.append(text if coefficient == 1 else f"{text} * {coefficient}")
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts).replace("+ -", "- ")


def grouped(text: str) -> str:
    """``text`` in parentheses unless it is a single term."""
    return text if _ATOM.fullmatch(text) else f"({text})"


def decomposed(linear: str, axes: tuple[Axis, ...], divide: str) -> dict[str, str]:
    """By axis: its index, as an expression in the row-major number ``linear``; ``divide`` is how
    the language writes integer division."""
    texts: dict[str, str] = {}
    stride = 1
    for axis in reversed(axes):
        text = linear if stride == 1 else f"{linear} {divide} {stride}"
        if axis != axes[0]:
            text = f"{text} % {axis.size}"
        texts[axis.name] = text
        stride *= axis.size
    return dict(reversed(texts.items()))


def row_number(axes: tuple[Axis, ...], axis_text: Mapping[str, str]) -> str:
    """The row-major number of a point of ``axes``."""
    parts = []
    stride = 1
    for axis in reversed(axes):
        text = axis_text[axis.name]
        parts.append(text if stride == 1 else f"{text} * {stride}")
        stride *= axis.size
    return " + ".join(reversed(parts))

"""Index expressions as text; Python and C++ write them alike except for division."""

from __future__ import annotations

import re
from collections.abc import Mapping

from kernelwright.compiler.ir.ir import Affine, Axis

_ATOM = re.compile(r"\w+(\[[^\]]*\])?|\([^()]*\)")


def affine(index: Affine, axis_text: Mapping[str, str]) -> str:
    """Return an index expression as text, with larger strides first."""
    parts = []
    for axis, coefficient in sorted(index.terms, key=lambda term: -abs(term[1])):
        text = grouped(axis_text[axis])
        parts.append(text if coefficient == 1 else f"{text} * {coefficient}")
    if index.offset or not parts:
        parts.append(str(index.offset))
    return " + ".join(parts).replace("+ -", "- ")


def grouped(text: str) -> str:
    """Return ``text`` in parentheses unless it is a single term."""
    return text if _ATOM.fullmatch(text) else f"({text})"


def decomposed(linear: str, axes: tuple[Axis, ...], divide: str) -> dict[str, str]:
    """Return the index of each axis as an expression in the row-major number ``linear``; ``divide``
    is the language's operator of integer division."""
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
    """Return the row-major number of a point of ``axes``."""
    parts = []
    stride = 1
    for axis in reversed(axes):
        text = axis_text[axis.name]
        parts.append(text if stride == 1 else f"{text} * {stride}")
        stride *= axis.size
    return " + ".join(reversed(parts))

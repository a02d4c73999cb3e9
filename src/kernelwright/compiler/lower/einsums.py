"""Einstein sums as products, sums and pointwise values, from left to right."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from kernelwright.compiler.fuse.flow import (
    Node,
    Product,
    Unsupported,
    View,
    fold,
    permute,
    row,
)
from kernelwright.compiler.lower.products import PRODUCTS
from kernelwright.compiler.lower.reductions import compute
from kernelwright.compiler.lower.table import Result, cast, point

SHORT = 8
"""Number of products up to which a sum is a loop in a pointwise kernel: a tile of a matrix would be
mostly empty."""


class Operand(NamedTuple):
    """A value whose dimensions have letters."""

    letters: str
    node: Node


def einsum(
    result: Result, equation: str, operands: Sequence[Node], path: Any = None, **_: Any
) -> Node:
    """Lower an einsum pair by pair; a letter is summed once no later operand has it."""
    terms, output = _parsed(equation, operands)
    sizes = {x: n for term in terms for x, n in zip(term.letters, term.node.shape, strict=True)}
    if any(term.node.shape != tuple(sizes[x] for x in term.letters) for term in terms):
        raise Unsupported("an einsum that broadcasts")
    left, *others = terms
    for number, right in enumerate(others):
        later = "".join(term.letters for term in others[number + 1 :]) + output
        is_last = number + 1 == len(others)
        left = _pair(
            _needed(left, right.letters + later),
            _needed(right, left.letters + later),
            later,
            sizes,
            output if is_last else "",
        )
    left = _needed(left, output)
    return cast(permute(left.node, [left.letters.index(x) for x in output]), result.dtype)


def _parsed(equation: str, operands: Sequence[Node]) -> tuple[list[Operand], str]:
    inputs, arrow, output = equation.replace(" ", "").partition("->")
    names = inputs.split(",")
    plain = all(name.isalpha() and len(set(name)) == len(name) for name in names)
    if not (plain and arrow and len(set(output)) == len(output) and len(names) == len(operands)):
        raise Unsupported("an einsum with dots, a diagonal or no output")
    if any("float" not in node.dtype for node in operands):
        raise Unsupported("an einsum of integers")
    return [
        Operand(n, cast(x, compute(x.dtype))) for n, x in zip(names, operands, strict=True)
    ], output


def _needed(term: Operand, letters: str) -> Operand:
    """Return ``term`` summed over the dimensions whose letters appear nowhere else."""
    dims = [d for d, x in enumerate(term.letters) if x not in letters]
    if not dims:
        return term
    kept = "".join(x for x in term.letters if x in letters)
    return Operand(kept, fold("sum", term.node, dims))


def _pair(left: Operand, right: Operand, later: str, sizes: dict[str, int], output: str) -> Operand:
    """Return the product of two values, summed over the letters that both have and nothing later
    does."""
    every = dict.fromkeys(left.letters + right.letters)
    kept = [x for x in every if x in later]
    folded = [x for x in every if x not in later]
    if set(output) == set(kept):
        kept = list(output)
    space = [*kept, *folded]
    shape = tuple(sizes[x] for x in space)
    a, b = (_in_space(term, space, shape) for term in (left, right))
    m = [d for d, x in enumerate(kept) if x not in right.letters]
    n = [d for d, x in enumerate(kept) if x not in left.letters]
    count = math.prod(sizes[x] for x in folded)
    if count <= SHORT or not m or not n:
        value = point("mul", a, b)
        if folded:
            value = fold("sum", value, range(len(kept), len(space)))
        return Operand("".join(kept), value)
    batch = tuple(d for d in range(len(kept)) if d not in (*m, *n))
    inner = tuple(sizes[x] for x in folded)
    value = Product(shape[: len(kept)], a.dtype, a, b, inner, batch, tuple(m), tuple(n))
    return Operand("".join(kept), value)


def _in_space(term: Operand, space: list[str], shape: tuple[int, ...]) -> Node:
    """Return ``term`` with a dimension for every letter of ``space``."""
    if list(term.letters) == space:
        return term.node
    rows = tuple(row(space.index(x)) for x in term.letters)
    return View(shape, term.node.dtype, term.node, rows)


PRODUCTS["einsum"] = einsum

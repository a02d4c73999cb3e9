"""Sorts of a few thousand integers by counting, as a mixture of experts sorts its rows by expert.

The rank of a number is how many others come before it: as many comparisons as there are pairs,
which a GPU makes in a few microseconds, where a library's sort is several kernels. Only variants
with own products sort so; others leave it to the library.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelwright.compiler.fuse.flow import (
    Fold,
    Gather,
    Node,
    Point,
    Position,
    Source,
    Stored,
    Unsupported,
    View,
    broadcast,
    fold,
    row,
)
from kernelwright.compiler.ir.ir import contiguous
from kernelwright.compiler.lower.table import Handler, Result, cast, constant, point

MOST = 8192
"""Most numbers of one sort: 67 million comparisons. Chosen, not measured."""
MOST_BINS = 1024
"""Most bins of a histogram, of which each looks at all numbers."""


@dataclass(frozen=True, eq=False)
class Order(Fold):
    """The positions that numbers have before they are sorted."""

    ranks: Node
    """The inverse: the rank of each number among the sorted ones."""


def sort(
    result: Result, arg: Node, dim: int = -1, descending: bool = False, **_: Any
) -> tuple[Node, Node]:
    """Lower a sort that keeps the order of equal numbers, as torch may or must."""
    if (
        len(arg.shape) != 1
        or "int" not in arg.dtype
        or descending
        or not 1 < arg.n_elements <= MOST
    ):
        raise Unsupported("a sort of other than a few integers, upwards")
    if not isinstance(arg, Source):
        arg = Stored(arg.shape, arg.dtype, arg, contiguous("", arg.shape, arg.dtype).strides)
    pairs = (arg.n_elements, arg.n_elements)
    own, other = (View(pairs, arg.dtype, arg, (row(d),)) for d in (0, 1))
    here, there = (Position(pairs, "int64", d) for d in (0, 1))
    is_first = point("lt", there, here, dtype="bool")
    is_equal = point("eq", other, own, dtype="bool")
    is_before = point(
        "or", point("lt", other, own, dtype="bool"), point("and", is_equal, is_first, dtype="bool")
    )
    ranks = fold("sum", cast(is_before, "int64"), [1])
    rank = View(pairs, "int64", ranks, (row(1),))
    is_here = point("eq", rank, here, dtype="bool")
    chosen = point("where", is_here, there, constant(there, 0), dtype="int64")
    order = Order(arg.shape, "int64", "sum", chosen, (1,), ranks)
    return Gather(arg.shape, arg.dtype, arg, (order,)), order


def histogram(
    result: Result, arg: Node, bins: int = 100, least: float = 0, most: float = 0
) -> Node:
    """Lower the counts of integers from 0, each of which has a bin of its own."""
    while isinstance(arg, Point) and arg.op == "cast":
        (arg,) = arg.operands
    if "int" not in arg.dtype or (least, most) != (0, bins - 1) or bins > MOST_BINS:
        raise Unsupported("bins that do not hold one integer each")
    pairs = (bins, arg.n_elements)
    number = Position(pairs, "int64", 0)
    is_it = point("eq", cast(broadcast(arg, pairs), "int64"), number, dtype="bool")
    return fold("sum", cast(is_it, result.dtype), [1])


def inverse(result: Result, _: Node, indices: Any, values: Any, *others: Any) -> Node:
    """Lower ``result[order] = arange(n)``, the inverse of a sort's order."""
    order = indices[0] if isinstance(indices, list) and len(indices) == 1 else None
    while isinstance(values, Point) and values.op == "cast":
        (values,) = values.operands
    is_inverse = isinstance(order, Order) and isinstance(values, Position) and not any(others)
    if not is_inverse or order.shape != result.shape or values.shape != order.shape:
        raise Unsupported("a scatter")
    return cast(order.ranks, result.dtype)


def scattered(
    result: Result, table: Node, dim: int, index: Node, values: Any, *, reduce: str = ""
) -> Node:
    """Lower the same, written as a scatter."""
    if reduce:
        raise Unsupported("a scatter that adds or multiplies")
    return inverse(result, table, [index], values)


SORTS: dict[str, Handler] = {
    "sort": sort, "histc": histogram, "index_put": inverse, "scatter": scattered
}  # fmt: skip

"""Loads at computed positions: embedding, gather, and indexing with tensors."""

from __future__ import annotations

from typing import Any

from kernelwright.compiler.fuse.flow import (
    Constant,
    Gather,
    Node,
    Point,
    Position,
    Row,
    Source,
    Unsupported,
    View,
    broadcast,
    fold,
    row,
)
from kernelwright.compiler.lower.table import Result, cast, constant, lowers, point


def _wrapped(index: Node, size: int) -> Node:
    """Return the index with negative positions counted from the end."""
    index = cast(index, "int64")
    negative = point("lt", index, constant(index, 0), dtype="bool")
    return point(
        "where", negative, point("add", index, constant(index, size)), index, dtype="int64"
    )


def _within(index: Node, size: int) -> Node:
    """Positions that are refused where they are none of so many."""
    index = cast(index, "int64")
    return point("within", index, constant(index, size), dtype="int64")


@lowers("embedding")
def embedding(result: Result, table: Node, index: Node, *_: Any, **__: Any) -> Node:
    rank = len(result.shape)
    index = _within(index, table.shape[0])
    spread = View(result.shape, index.dtype, index, tuple(row(d) for d in range(rank - 1)))
    rows: tuple[Row | Node, ...] = (spread, row(rank - 1))
    return Gather(result.shape, table.dtype, table, rows)


@lowers("gather")
def gather(result: Result, table: Node, dim: int, index: Node, **_: Any) -> Node:
    if not table.shape:
        raise Unsupported("gather from a number")
    dim %= len(table.shape)
    index = _within(index, table.shape[dim])
    others = [d for d in range(len(table.shape)) if d != dim]
    is_one = index.shape[dim] == 1 and all(index.shape[d] == table.shape[d] for d in others)
    if is_one and isinstance(table, Point):
        try:
            return _at(table, dim, index)
        except Unsupported:
            if "float" in table.dtype:
                return _chosen(table, dim, index)
    rows: list[Row | Node] = [row(d) for d in range(len(table.shape))]
    rows[dim] = index
    return Gather(result.shape, table.dtype, table, tuple(rows))


def _at(table: Node, dim: int, index: Node) -> Node:
    """Return computed values at one position in every row: what they are computed from is loaded
    there alone."""
    match table:
        case Constant(_, dtype, value):
            return Constant(index.shape, dtype, value)
        case Point(_, dtype, op, operands):
            at = tuple(_at(operand, dim, index) for operand in operands)
            return Point(index.shape, dtype, op, at)
        case View(_, dtype, arg, rows, ()) if not any(
            place == dim for terms, _ in rows for place, _ in terms
        ):  # the same along the row
            return View(index.shape, dtype, arg, rows)
        case Source(shape, dtype):
            places: list[Row | Node] = [row(d) for d in range(len(shape))]
            places[dim] = index
            return Gather(index.shape, dtype, table, tuple(places))
    raise Unsupported(f"one position in a {type(table).__name__}")


def _chosen(table: Node, dim: int, index: Node) -> Node:
    """Select one of a row of computed values as the sum of the row with zeros elsewhere, so that
    the row (such as a log-softmax) need not be in memory."""
    position = Position(table.shape, "int64", dim)
    wanted = broadcast(cast(index, "int64"), table.shape)
    is_it = point("eq", position, wanted, dtype="bool")
    value = point("where", is_it, table, constant(table, 0.0), dtype=table.dtype)
    return fold("sum", value, [dim], keepdim=True)


@lowers("scatter_add")
def scatter_add(result: Result, table: Node, dim: int, index: Node, source: Node) -> Node:
    """Lower what a gather of one value in every row has as its gradient: zeros but there."""
    dim %= max(len(table.shape), 1)
    others = [size for d, size in enumerate(table.shape) if d != dim]
    is_one = list(index.shape) == [*others[:dim], 1, *others[dim:]]
    if not (is_one and isinstance(table, Constant) and table.value == 0):
        raise Unsupported("scattering more than one value to a row, or to other than zeros")
    position = Position(result.shape, "int64", dim)
    wanted = broadcast(cast(index, "int64"), result.shape)
    value = broadcast(cast(source, result.dtype), result.shape)
    is_it = point("eq", position, wanted, dtype="bool")
    return point("where", is_it, value, constant(value, 0.0), dtype=result.dtype)


@lowers("index_select")
def index_select(result: Result, table: Node, dim: int, index: Node) -> Node:
    dim %= len(table.shape)
    index = _within(index, table.shape[dim])
    rows: list[Row | Node] = [row(d) for d in range(len(table.shape))]
    rows[dim] = View(result.shape, index.dtype, index, (row(dim),))
    return Gather(result.shape, table.dtype, table, tuple(rows))


@lowers("index")
def index(result: Result, table: Node, indices: list[Node | None]) -> Node:
    """Lower indexing with tensors in neighbouring positions; torch puts the result there."""
    given = [d for d, i in enumerate(indices) if i is not None]
    tensors = [i for i in indices if i is not None]
    if any(i.dtype == "bool" for i in tensors) or given != list(range(given[0], given[-1] + 1)):
        raise Unsupported("indexing with masks, or with tensors apart")
    spread = len(result.shape) - (len(table.shape) - len(given))
    first = given[0]
    rows: list[Row | Node] = []
    for d in range(len(table.shape)):
        if d not in given:
            rows.append(row(d if d < first else d - len(given) + spread))
            continue
        shape = result.shape[first : first + spread]
        wrapped = _wrapped(tensors[given.index(d)], table.shape[d])
        local = broadcast(_within(wrapped, table.shape[d]), shape)
        place = tuple(row(first + k) for k in range(spread))
        rows.append(View(result.shape, "int64", local, place))
    return Gather(result.shape, table.dtype, table, tuple(rows))

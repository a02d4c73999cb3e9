"""Views as index maps instead of copies."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from kernelwright.compiler.fuse.flow import (
    Constant,
    Node,
    Position,
    Row,
    Running,
    Unsupported,
    View,
    broadcast,
    fixed,
    permute,
    reshape,
    row,
)
from kernelwright.compiler.lower.joins import MOST_PARTS
from kernelwright.compiler.lower.table import Result, cast, constant, lowers, operand, point

_SCAN_START = {"sum": 0, "prod": 1}


def affine_view(result: Result, arg: Node, rows: Sequence[Row]) -> Node:
    """Return a view that stays inside its argument."""
    return View(result.shape, arg.dtype, arg, tuple(rows))


@lowers("permute", "transpose", "t", "numpy_T")
def permuted(result: Result, arg: Node, *dims: Any) -> Node:
    rank = len(arg.shape)
    operator = result.operator.partition(".")[0]
    if operator == "permute":
        return permute(arg, [d % rank for d in dims[0]])
    order = list(range(rank))
    if operator == "transpose":
        a, b = (d % rank for d in dims)
        order[a], order[b] = order[b], order[a]
    else:
        order.reverse()
    return permute(arg, order)


@lowers(
    "view",
    "reshape",
    "_unsafe_view",
    "flatten",
    "unflatten",
    "squeeze",
    "unsqueeze",
    "view_as",
    "reshape_as",
)
def reshaped(result: Result, arg: Node, *_: Any, **__: Any) -> Node:
    """Lower operators that keep the values in row-major order; the result's shape says the rest."""
    return reshape(arg, result.shape)


@lowers("expand", "expand_as")
def expanded(result: Result, arg: Node, *_: Any, **__: Any) -> Node:
    return broadcast(arg, result.shape)


@lowers("slice")
def sliced(
    result: Result,
    arg: Node,
    dim: int = 0,
    start: int | None = None,
    end: Any = None,
    step: int = 1,
) -> Node:
    dim %= len(arg.shape)
    size = arg.shape[dim]
    first = 0 if start is None else min(max(start + size if start < 0 else start, 0), size)
    rows = [row(d) for d in range(len(arg.shape))]
    rows[dim] = row(dim, step, first)
    return affine_view(result, arg, rows)


@lowers("select")
def selected(result: Result, arg: Node, dim: int, index: int) -> Node:
    dim %= len(arg.shape)
    if isinstance(index, Node):
        raise Unsupported("select at a computed position")
    rows = [row(d if d < dim else d - 1) for d in range(len(arg.shape))]
    rows[dim] = fixed(index % arg.shape[dim])
    return affine_view(result, arg, rows)


@lowers("flip")
def flipped(result: Result, arg: Node, dims: Sequence[int]) -> Node:
    """Lower a flip; a scan between two flips becomes a scan that runs backwards."""
    turned = {d % len(arg.shape) for d in dims}
    if isinstance(arg, Running) and turned == {arg.dim} and not arg.reverse:
        inner = arg.arg
        if isinstance(inner, View) and inner.rows == _flip_rows(arg.shape, turned):
            return replace(arg, arg=inner.arg, reverse=True)
    return affine_view(result, arg, _flip_rows(arg.shape, turned))


def _flip_rows(shape: Sequence[int], turned: Collection[int]) -> tuple[Row, ...]:
    return tuple(row(d, -1, n - 1) if d in turned else row(d) for d, n in enumerate(shape))


@lowers("diagonal")
def diagonal(result: Result, arg: Node, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Node:
    rank = len(arg.shape)
    first, second = dim1 % rank, dim2 % rank
    rest = iter(range(rank - 2))
    rows = [row(-1) if d in (first, second) else row(next(rest)) for d in range(rank)]
    rows[first] = row(rank - 2, 1, max(-offset, 0))
    rows[second] = row(rank - 2, 1, max(offset, 0))
    return affine_view(result, arg, rows)


@lowers("unfold")
def unfolded(result: Result, arg: Node, dim: int, size: int, step: int) -> Node:
    rank = len(arg.shape)
    rows = [row(d) for d in range(rank)]
    rows[dim % rank] = (((dim % rank, step), (rank, 1)), 0)
    return affine_view(result, arg, rows)


@lowers("split", "split_with_sizes", "chunk", "unbind")
def pieces(result: Result, arg: Node, *args: Any, **_: Any) -> tuple[Node, ...]:
    operator = result.operator.partition(".")[0]
    if operator == "unbind":
        dim = (args[0] if args else 0) % len(arg.shape)
        count = arg.shape[dim]
        shape = tuple(n for d, n in enumerate(arg.shape) if d != dim)
        return tuple(
            selected(Result(shape, arg.dtype, "select"), arg, dim, i) for i in range(count)
        )
    dim = (args[1] if len(args) > 1 else 0) % len(arg.shape)
    size = arg.shape[dim]
    lengths = args[0]
    if operator == "chunk":
        lengths = -(-size // args[0])
    if isinstance(lengths, int):
        lengths = [min(lengths, size - start) for start in range(0, size, lengths)]
    parts, start = [], 0
    for length in lengths:
        shape = tuple(length if d == dim else n for d, n in enumerate(arg.shape))
        parts.append(sliced(Result(shape, arg.dtype, "slice"), arg, dim, start))
        start += length
    return tuple(parts)


@lowers("constant_pad_nd", "pad")
def padded(result: Result, arg: Node, pad: Sequence[int], *args: Any, **named: Any) -> Node:
    mode, value = "constant", 0.0
    if result.operator.startswith("pad"):
        mode = args[0] if args else named.get("mode", "constant")
        value = args[1] if len(args) > 1 else named.get("value")
    elif args:
        value = args[0]
    if mode != "constant":
        raise Unsupported(f"padding by {mode}")
    rank = len(arg.shape)
    before = {rank - 1 - i // 2: pad[i] for i in range(0, len(pad), 2)}
    after = {rank - 1 - i // 2: pad[i + 1] for i in range(0, len(pad), 2)}
    rows = [row(d, 1, -before.get(d, 0)) for d in range(rank)]
    checked = tuple(d for d in range(rank) if before.get(d, 0) > 0 or after.get(d, 0) > 0)
    return View(result.shape, arg.dtype, arg, tuple(rows), checked, value or 0.0)


@lowers("cat")
def cat(result: Result, parts: Sequence[Node], dim: int = 0) -> Node:
    """Lower a concatenation as bounded loads of every part, selected by position."""
    dim %= len(result.shape)
    parts = [part for part in parts if part.shape != (0,)]
    if len(parts) > MOST_PARTS:
        raise Unsupported("a concatenation of many parts")
    if (scan := _delayed_scan(result, parts, dim)) is not None:
        return scan
    position = Position(result.shape, "int64", dim)
    value: Node | None = None
    end = result.shape[dim]
    for part in reversed(parts):
        start = end - part.shape[dim]
        rows = [row(d, 1, -start if d == dim else 0) for d in range(len(result.shape))]
        checked = (dim,) if len(parts) > 1 else ()
        view = View(result.shape, part.dtype, part, tuple(rows), checked)
        here = cast(view, result.dtype)
        if value is None:
            value = here
        else:
            before = point("lt", position, constant(position, end), dtype="bool")
            value = point("where", before, here, value, dtype=result.dtype)
        end = start
    assert value is not None
    return value


def _delayed_scan(result: Result, parts: Sequence[Node], dim: int) -> Node | None:
    """Return a scan preceded by its start value as the scan of the argument delayed by one, if it
    is one."""
    if len(parts) != 2:
        return None
    first, scan = parts
    if not isinstance(first, Constant) or not isinstance(scan, Running):
        return None
    starts = first.shape[dim] == 1 and first.value == _SCAN_START.get(scan.op)
    if not starts or scan.reverse or scan.dim != dim or scan.dtype != result.dtype:
        return None
    rows = tuple(row(d, 1, -1 if d == dim else 0) for d in range(len(result.shape)))
    later = View(result.shape, scan.arg.dtype, scan.arg, rows, (dim,), first.value)
    return Running(result.shape, scan.dtype, scan.op, later, dim)


@lowers("stack")
def stack(result: Result, parts: Sequence[Node], dim: int = 0) -> Node:
    dim %= len(result.shape)
    thin = tuple(1 if d == dim else n for d, n in enumerate(result.shape))
    return cat(result, [reshape(part, thin) for part in parts], dim)


@lowers("slice_scatter")
def written(
    result: Result,
    into: Node,
    part: Node,
    dim: int = 0,
    start: int | None = None,
    end: int | None = None,
    step: int = 1,
) -> Node:
    """Lower what a tensor holds after a part of it was written."""
    dim %= len(result.shape)
    first, last, _ = slice(start, end, step).indices(result.shape[dim])
    if step != 1:
        raise Unsupported("writing to every other place")
    position = Position(result.shape, "int64", dim)
    rows = tuple(row(d, 1, -first if d == dim else 0) for d in range(len(result.shape)))
    here = cast(View(result.shape, part.dtype, part, rows, (dim,)), result.dtype)
    is_after = point("ge", position, constant(position, first), dtype="bool")
    is_before = point("lt", position, constant(position, last), dtype="bool")
    is_here = point("and", is_after, is_before, dtype="bool")
    return point("where", is_here, here, cast(into, result.dtype), dtype=result.dtype)


@lowers("select_scatter")
def written_at(result: Result, into: Node, part: Node, dim: int, index: int) -> Node:
    dim %= len(result.shape)
    index %= result.shape[dim]
    thin = tuple(1 if d == dim else n for d, n in enumerate(result.shape))
    return written(result, into, reshape(part, thin), dim, index, index + 1)


@lowers("tril", "triu")
def triangle(result: Result, arg: Node, diagonal: int = 0) -> Node:
    rank = len(result.shape)
    line = Position(result.shape, "int64", rank - 2)
    column = Position(result.shape, "int64", rank - 1)
    limit = point("add", line, constant(line, diagonal)) if diagonal else line
    op = "le" if result.operator.startswith("tril") else "ge"
    kept = point(op, column, limit, dtype="bool")
    zero = operand(0, result, arg.dtype)
    return point("where", kept, arg, zero, dtype=arg.dtype)


@lowers("diag_embed")
def diagonal_matrix(
    result: Result, arg: Node, offset: int = 0, dim1: int = -2, dim2: int = -1
) -> Node:
    if (offset, dim1, dim2) != (0, -2, -1):
        raise Unsupported("a diagonal elsewhere")
    rank = len(result.shape)
    line = Position(result.shape, "int64", rank - 2)
    column = Position(result.shape, "int64", rank - 1)
    rows = tuple(row(d) for d in range(rank - 1))
    value = View(result.shape, arg.dtype, arg, rows)
    on_line = point("eq", line, column, dtype="bool")
    return point("where", on_line, value, operand(0, result, arg.dtype), dtype=arg.dtype)


@lowers("repeat")
def repeat(result: Result, arg: Node, repeats: Sequence[int]) -> Node:
    lead = len(repeats) - len(arg.shape)
    if any(r != 1 and n != 1 for r, n in zip(repeats[lead:], arg.shape, strict=True)):
        raise Unsupported("repetition of a dimension")
    return broadcast(arg, result.shape)

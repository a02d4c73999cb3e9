"""The few largest of a row, as experts of a router are chosen: one after the other."""

from __future__ import annotations

import math
from dataclasses import replace

from kernelwright.compiler.fuse.flow import Node, Position, Unsupported, broadcast, fold
from kernelwright.compiler.lower.table import Result, cast, constant, lowers, point
from kernelwright.compiler.lower.views import cat

MOST, LONGEST = 8, 1024
"""So many are chosen at most, of so many at most: every one of them is another pass over the row,
which a kernel keeps in registers."""
AT_ONCE = 4
"""Parts of one concatenation."""


@lowers("topk")
def topk(
    result: Result, arg: Node, k: int, dim: int = -1, largest: bool = True, sorted: bool = True
) -> tuple[Node, Node]:
    """Lower the largest values and their positions, the largest first. A row with fewer numbers
    above minus infinity gives one of their positions again."""
    dim %= len(arg.shape)
    if not largest or k > MOST or arg.shape[dim] > LONGEST or "float" not in arg.dtype:
        raise Unsupported("the smallest, or many of many")
    position = Position(arg.shape, "int64", dim)
    left, values, places = arg, [], []
    for _ in range(k):
        values.append(fold("max", left, [dim], keepdim=True))
        places.append(fold("argmax", left, [dim], keepdim=True))
        is_it = point("eq", position, broadcast(places[-1], arg.shape), dtype="bool")
        left = point("where", is_it, constant(arg, -math.inf), left, dtype=arg.dtype)
    return _joined(result, values, dim), _joined(replace(result, dtype="int64"), places, dim)


def _joined(result: Result, parts: list[Node], dim: int) -> Node:
    """Return the parts along ``dim``."""
    while len(parts) > 1:
        groups = [parts[n : n + AT_ONCE] for n in range(0, len(parts), AT_ONCE)]
        parts = [cat(_sized(result, group, dim), group, dim) for group in groups]
    return cast(parts[0], result.dtype)


def _sized(result: Result, parts: list[Node], dim: int) -> Result:
    size = sum(part.shape[dim] for part in parts)
    return replace(result, shape=(*result.shape[:dim], size, *result.shape[dim + 1 :]))

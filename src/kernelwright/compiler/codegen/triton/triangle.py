"""Products of which only a triangle is used: tiles outside it are not multiplied."""

from __future__ import annotations

from kernelwright.compiler.ir.ir import Compute, Const, Contraction, Iota, Store

_SIDES = {"ge": (1, 0), "gt": (1, 1), "le": (-1, 0), "lt": (-1, -1)}
"""Comparison → side of the diagonal, and distance from it of the first column that satisfies it."""


def end_of_k(step: Contraction, k: int) -> str:
    """Return the text of the end of the loop over k. It is zero in a tile that the epilogue
    replaces entirely by a constant, as ``triu`` and ``tril`` do."""
    wanted = {_condition(step, op.value) for op in step.body if isinstance(op, Store)}
    if len(wanted) != 1 or None in wanted or step.batch:
        return str(k)
    ((side, distance),) = wanted  # type: ignore[misc]
    if side > 0:  # compares the tile's last column with its first row
        reached = "tile_n * BLOCK_N + BLOCK_N - 1 - tile_m * BLOCK_M"
        return f"{k} if {reached} >= {distance} else 0"
    reached = "tile_n * BLOCK_N - (tile_m * BLOCK_M + BLOCK_M - 1)"
    return f"{k} if {reached} <= {distance} else 0"


def _condition(step: Contraction, name: str) -> tuple[int, int] | None:
    """Return where the value is not a constant: column - row is at least (1, d) or at most (-1,
    d)."""
    values = {op.name: op for op in step.body if not isinstance(op, Store)}
    chosen = values.get(name)
    if not isinstance(chosen, Compute) or chosen.op != "where":
        return None
    holds, _, other = (values.get(arg) for arg in chosen.args)
    if not isinstance(other, Const) or not isinstance(holds, Compute) or holds.op not in _SIDES:
        return None
    if len(step.m) != 1 or len(step.n) != 1:
        return None
    left, right = (values.get(arg) for arg in holds.args)
    if not isinstance(left, Iota) or not isinstance(right, Iota):
        return None
    side, strict = _SIDES[holds.op]
    row, column = ((step.m[0].name, 1),), ((step.n[0].name, 1),)
    between = right.index.offset - left.index.offset + strict
    if (left.index.terms, right.index.terms) == (column, row):
        return side, between
    if (left.index.terms, right.index.terms) == (row, column):
        return -side, -between
    return None

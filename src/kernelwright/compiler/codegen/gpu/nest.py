"""The features of a loop nest that decide which tiles suit it."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.ir.ir import Kernel, Load, Scan

MAX_WINDOW = 512
"""Number of inner points that one lane loops over alone; more points get a tile."""
FEW_ROWS, LEAST_TILE = 8448, 8
"""Number of rows that leave half of a GPU's lanes idle, and of columns that are then shared by
lanes: one lane for each of 96 rows took 11 us to add up 49 parts, where a tile took 3."""


@dataclass(frozen=True)
class Nest:
    """The sizes that decide a loop nest's schedule."""

    kind: str
    """'point' (no inner axes), 'window' (few inner points that neighbouring lanes share), 'row'
    (memory is contiguous along the inner axes), 'column' (memory is contiguous along the outer
    axes)."""
    n_rows: int
    n_columns: int
    has_scan: bool


def nest(kernel: Kernel) -> Nest:
    """Return the features of a collapsed kernel that schedulers use."""
    n_rows, n_columns = size_of(kernel.outer), size_of(kernel.inner)
    has_scan = any(isinstance(op, Scan) for op in kernel.body)
    if not kernel.inner:
        return Nest("point", n_rows, 1, False)
    loads = [op for op in kernel.body if isinstance(op, Load)]
    outer = {a.name for a in kernel.outer}
    inner = {a.name for a in kernel.inner}
    deep = [op for op in loads if op.index.axes & inner]
    largest = max(deep, key=lambda op: (len(op.index.axes), op.tensor.n_elements), default=None)
    if largest is None:
        return Nest("row", n_rows, n_columns, has_scan)
    nearest_outer = min((abs(c) for a, c in largest.index.terms if a in outer), default=1 << 62)
    nearest_inner = min(abs(c) for a, c in largest.index.terms if a in inner)
    is_window = n_columns <= MAX_WINDOW and len(kernel.inner) > 1 and nearest_outer <= 8
    is_shared = len(kernel.inner) == 1 and n_columns >= LEAST_TILE and n_rows <= FEW_ROWS
    is_narrow = nearest_outer == 1 and n_columns <= 64 and not is_shared
    if (is_window or is_narrow) and not has_scan:
        return Nest("window", n_rows, n_columns, has_scan)
    kind = "column" if nearest_outer < nearest_inner else "row"
    return Nest(kind, n_rows, n_columns, has_scan)

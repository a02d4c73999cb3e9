"""A pointwise loop nest that transposes dimensions in memory, in square tiles.

Reads are contiguous along one axis and writes along another (channels last and channels first). A
tile of both axes reads and writes whole cache lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.axes import size_of, tensors_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name
from kernelwright.compiler.codegen.gpu.schedule import Knobs, needs_int64
from kernelwright.compiler.codegen.gpu.text import decomposed
from kernelwright.compiler.codegen.triton.body import Body, Tile, tile_name
from kernelwright.compiler.codegen.triton.kernel import RESERVED, function_text, launch_text
from kernelwright.compiler.ir.ir import Axis, Kernel, Load, Store
from kernelwright.compiler.ir.sizes import number

LEAST = 8
"""Number of points of an axis below which a tile is mostly empty."""


def exchanged(kernel: Kernel) -> tuple[Axis, Axis] | None:
    """Return the axes along which the largest tensor read, and the tensors written, are contiguous;
    None if they are the same, or if reductions follow."""
    loads = [op for op in kernel.body if isinstance(op, Load) and not op.gather]
    stores = [op for op in kernel.body if isinstance(op, Store)]
    if kernel.inner or not loads or not stores:
        return None
    largest = max(loads, key=lambda op: (len(op.index.axes), op.tensor.n_elements))
    one, other = (
        next((axis for axis in kernel.outer if op.index.coefficient(axis.name) == 1), None)
        for op in (largest, stores[0])
    )
    if one is None or other is None or one == other or min(one.size, other.size) < LEAST:
        return None
    return one, other


def tile_choices(kernel: Kernel) -> list[Knobs]:
    """Return tiles of 64 by 64 or less, if the kernel transposes dimensions."""
    pair = exchanged(kernel)
    if pair is None:
        return []
    columns = 8
    while columns < min(64, pair[0].size):
        columns *= 2
    return [
        {"shape": "tiles", "rows": rows, "block": columns, "warps": warps}
        for rows, warps in ((4096 // columns, 8), (4096 // columns, 4))
    ]


def emit_tiles(kernel: Kernel, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``kernel`` in Triton under ``knobs``: rows of the tensor written, block of the tensor
    read."""
    pair = exchanged(kernel)
    assert pair is not None
    read, written = pair
    rows, block = int(knobs["rows"]), int(knobs["block"])
    rest = tuple(axis for axis in kernel.outer if axis not in pair)
    n_rows, n_blocks = -(-number(written.size) // rows), -(-number(read.size) // block)
    tensors = tensors_of(kernel)
    pointers = [tile_name(tensor) for tensor in tensors]
    own = ("tile", "row", "column", "live_row", "live_column", "rest")
    names = Names([*RESERVED, *own, function_name(kernel), *pointers, "ROWS", "BLOCK"])
    lines = Lines(1)
    wide = ".to(tl.int64)" if needs_int64(kernel) else ""
    lines.add(
        f"tile = tl.program_id(0){wide}",
        f"row = tile % {n_rows} * ROWS + tl.arange(0, ROWS)",
        f"column = tile // {n_rows} % {n_blocks} * BLOCK + tl.arange(0, BLOCK)",
        f"live_row = (row < {written.size})[:, None]",
        f"live_column = (column < {read.size})[None, :]",
        f"rest = tile // {n_rows * n_blocks}",
    )
    tile = Tile(
        {written.name: "row[:, None]", read.name: "column[None, :]"},
        {axis.name: axis.size for axis in kernel.outer},
        {written.name: "live_row", read.name: "live_column"},
    )
    for axis, text in decomposed("rest", rest, "//").items():
        name = names.new(axis)
        lines.add(f"{name} = {text}")
        tile.axis_text[axis] = name
    body = Body(lines, names, interpreted=interpreted)
    for op in kernel.body:
        body.emit(op, tile)
    constants = {"ROWS": rows, "BLOCK": block}
    text = function_text(kernel, pointers, constants, lines)
    grid, given = n_rows * n_blocks * size_of(rest), [tensor.name for tensor in tensors]
    launch = launch_text(kernel, grid, given, constants, knobs, quick=not interpreted)
    return Launched(text, launch)

"""The choice of knobs for a loop nest's Triton kernel: a first few from its sizes, then
neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.nest import Nest, nest
from kernelwright.compiler.codegen.gpu.schedule import (
    LEAST_COLUMN,
    MOST_COLUMN,
    N_PROCESSORS,
    PART_COLUMNS,
    SECTOR_FLOATS,
    Knobs,
    more_parts,
    parts_wanted,
    power_of_two,
)
from kernelwright.compiler.codegen.gpu.stages import can_split
from kernelwright.compiler.codegen.gpu.totals import SHARES, shares, totals
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.ir.ir import Kernel, Load, Scan, Store

MAX_IN_REGISTERS = 16384
"""Largest number of columns of a row that stays in registers: 16 float32 values per thread with 32
warps."""
LEAST_PLANE = 2048
"""Number of points below which a plane leaves too many lanes of its last block idle."""

LOOPS: tuple[Knobs, ...] = tuple(
    {"shape": "lanes", "block": block, "warps": warps} for block, warps in ((128, 4), (32, 1))
)
"""Knobs of scans down the columns of a matrix, as a loop over rows with a column for each lane."""


def kernel_choices(kernel: Kernel) -> list[Knobs]:
    """Return knobs for a collapsed kernel, the most promising first."""
    shape = nest(kernel)
    if totals(kernel):
        return _sweeps(kernel, shape)
    if shape.kind in ("point", "window"):
        options = [*_planes(kernel, shape), *_lanes(shape)]
    elif shape.kind == "row":
        options = _rows(shape, splittable=can_split(kernel))
    else:
        options = _columns(shape, splittable=can_split(kernel))
        if shape.has_scan and not any(isinstance(op, Scan) and op.reverse for op in kernel.body):
            options[1:1] = LOOPS
    return options


def _planes(kernel: Kernel, shape: Nest) -> list[Knobs]:
    """Return knobs that keep the leading axes in the program, if windows read a small tensor that
    is indexed by the leading axes alone (a depthwise convolution's weights). Its values are then
    scalars."""
    if shape.kind != "window":
        return []
    outer = [axis.name for axis in kernel.outer]
    loads = [op for op in kernel.body if isinstance(op, Load)]
    inner = {axis.name for axis in kernel.inner}
    deep = [op for op in loads if op.index.axes & inner and op.index.axes & set(outer)]
    last = [max(outer.index(a) for a in op.index.axes if a in outer) for op in deep]
    lead = min(last, default=0) + 1
    stores = [op for op in kernel.body if isinstance(op, Store)]
    rest = set(outer[lead:])
    if not rest or any(not op.index.axes & rest for op in stores):
        return []
    if size_of(axis for axis in kernel.outer[lead:]) < LEAST_PLANE:
        return []
    return [
        {"shape": "lanes", "block": b, "warps": w, "lead": lead} for b, w in ((1024, 4), (512, 4))
    ]


def _lanes(shape: Nest) -> list[Knobs]:
    if shape.n_rows <= 512 * N_PROCESSORS or shape.kind == "window":
        sizes = ((256, 4), (128, 4), (512, 4), (1024, 8))
    else:
        sizes = ((1024, 4), (2048, 8), (512, 4), (1024, 8))
    return [{"shape": "lanes", "block": block, "warps": warps} for block, warps in sizes]


def _warps(tile: int) -> int:
    """Return the number of warps: about eight values of a tile per thread."""
    return max(1, min(16, power_of_two(tile // 256)))


def _row(rows: int, block: int, warps: int, parts: int = 1) -> Knobs:
    """Return the knobs of a row kernel; one row per program is a tile of one dimension."""
    knobs = {"shape": "rows", "rows": rows, "block": block, "warps": warps}
    if rows == 1:
        knobs = {"shape": "row", "block": block, "warps": warps}
    return {**knobs, "parts": parts} if parts > 1 else knobs


def _rows(shape: Nest, *, splittable: bool) -> list[Knobs]:
    """Return knobs for memory that is contiguous along rows: whole rows in registers if they fit,
    otherwise blocks."""
    whole = power_of_two(shape.n_columns)
    if splittable:
        parts = parts_wanted(shape, shape.n_rows, PART_COLUMNS)
        if parts > 1:
            sizes = ((parts, 4096, 8), (2 * parts, 4096, 8), (parts, 2048, 8), (parts, 8192, 16))
            return [_row(1, block, warps, n) for n, block, warps in sizes]
    options: list[Knobs] = []
    if whole <= MAX_IN_REGISTERS:
        together = max(1, min(1024 // whole, shape.n_rows // N_PROCESSORS))
        rows = power_of_two(together + 1) // 2
        tile = rows * whole
        options.append(_row(rows, whole, _warps(tile)))
        options.append(_row(rows, whole, min(32, 2 * _warps(tile))))
        if rows * 2 * whole <= MAX_IN_REGISTERS and shape.n_rows > 1:
            options.append(_row(rows * 2, whole, _warps(2 * tile)))
        if rows > 1:
            options.append(_row(1, whole, _warps(whole)))
    if whole > 2048:
        block = min(4096, whole // 2)
        options.append(_row(1, block, _warps(block)))
        options.append(_row(1, 2 * block, min(16, 2 * _warps(block))))
    if 2 * MAX_IN_REGISTERS >= whole > MAX_IN_REGISTERS:
        options.append(_row(1, whole, 32))
    return options


def _sweeps(kernel: Kernel, shape: Nest) -> list[Knobs]:
    """Return knobs of a loop over rows that stay in registers, beside the totals of columns."""
    whole = power_of_two(shape.n_columns)
    rows = power_of_two(max(1, 2048 // whole) + 1) // 2
    warps = _warps(rows * whole)
    options = ((2, warps, 1), (4, warps, 1), (2, warps, 2), (4, max(1, warps // 2), 1))
    return [
        {**_row(rows, whole, warps), "programs": shares(kernel, rows, n), "ahead": ahead}
        for n, warps, ahead in options
    ]


def _columns(shape: Nest, *, splittable: bool) -> list[Knobs]:
    """Return knobs for memory that is contiguous across rows: 64 rows by a few columns, so that
    loads are wide; fewer rows if there are few, each of a few thousand columns."""
    rows = min(64, power_of_two(shape.n_rows))
    is_few = shape.n_rows < rows * N_PROCESSORS
    if is_few and LEAST_COLUMN <= shape.n_columns <= MOST_COLUMN and not shape.has_scan:
        return _short_columns(shape, rows)
    block = min(32, power_of_two(shape.n_columns))
    parts = parts_wanted(shape, math.ceil(shape.n_rows / rows), 64) if splittable else 1
    sizes = (
        (rows, block, 4, parts),
        (2 * rows, block, 8, parts),
        (rows, 2 * block, 8, parts),
        (rows, max(1, block // 2), 4, parts),
        (max(16, rows // 2), block, 4, parts),
    )
    tiles = [_row(max(2, r), b, w, n) for r, b, w, n in sizes if r <= 2 * shape.n_rows]
    if shape.n_columns <= 256 and not shape.has_scan:
        tiles.insert(1, {"shape": "lanes", "block": 128, "warps": 4})
    return tiles


def _short_columns(shape: Nest, rows: int) -> list[Knobs]:
    """Return knobs with, if possible, as many programs as a GPU has processors, and with whole
    columns in registers if they fit."""
    while rows > SECTOR_FLOATS and shape.n_rows < rows * N_PROCESSORS:
        rows //= 2
    whole = power_of_two(shape.n_columns)
    tiles = (MAX_IN_REGISTERS, 2 * MAX_IN_REGISTERS, MAX_IN_REGISTERS // 2)
    blocks = [max(1, min(whole, tile // rows)) for tile in tiles]
    options = [_row(rows, block, _warps(rows * block)) for block in blocks]
    least = blocks[-1]
    return [*options, _row(2 * rows, max(1, least // 2), _warps(rows * least))]


SPACE = StepSpace(
    (
        Knob("warps", powers_of_two(1, 32)),
        Knob("block", powers_of_two(16, 32768)),
        Knob("rows", powers_of_two(1, 512)),
        Knob("parts", powers_of_two(2, 4096)),
        Knob("programs", SHARES),
        Knob("ahead", (1, 2, 3)),
    ),
    lambda choice: choice["block"] * choice.get("rows", 1) <= 2 * MAX_IN_REGISTERS,
)
"""The knobs of a loop nest's kernel, with tiles that registers hold."""


def kernel_neighbours(kernel: Kernel, knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with one of them changed. One row per program is a tile of one dimension."""
    is_row = knobs["shape"] in ("row", "rows")
    most_rows = power_of_two(size_of(kernel.outer))  # a single row is stored as a number
    for moved in SPACE.moves({"rows": 1, **knobs} if is_row else knobs):
        if is_row and moved["rows"] > max(most_rows, knobs.get("rows", 1)):
            continue
        if "programs" in knobs and moved["block"] < size_of(kernel.inner):
            continue  # a row with totals is one block
        others = {name: value for name, value in moved.items() if name not in ("shape", "rows")}
        if not is_row:
            yield moved
        elif moved["rows"] == 1:
            yield {"shape": "row", **others}
        else:
            yield {"shape": "rows", "rows": moved["rows"], **others}
    for parts in more_parts(kernel, knobs):
        part = power_of_two(math.ceil(size_of(kernel.inner) / parts))
        yield {**knobs, "block": min(knobs["block"], part), "parts": parts}

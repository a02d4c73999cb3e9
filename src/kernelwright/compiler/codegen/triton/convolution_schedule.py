"""The choice of knobs for a convolution's Triton kernel, the most promising first."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS, Knobs, power_of_two
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.codegen.triton.grid import grid_of, side_by_side
from kernelwright.compiler.codegen.triton.image import image_of, layouts
from kernelwright.compiler.codegen.triton.product_cost import SHARED_BYTES
from kernelwright.compiler.codegen.triton.product_schedule import STAGES
from kernelwright.compiler.ir.ir import Compute, Contraction

LEAST_COLUMNS = 16
"""Least number of columns in a tile on tensor cores."""
MOST_COLUMNS = 128
"""Most columns of a tile: of a convolution with more channels, no program has all of a row."""
LEAST_CHANNELS = 16
"""Number of channels below which a channels-last copy of the image gains nothing, and parts in
bfloat16 are often as fast as TF32 (measured on an H200 at shapes of 3 and 8 channels)."""
LONG_BODY = 4
"""Number of values computed after the sums up to which 128 sums per thread leave room for them
(compiled for sm_90: three values left 34 registers, ten spilled)."""
FEW_PRODUCTS = 2**33
"""Number of multiplications below which being exact costs less than half a millisecond. Exactness
matters for a convolution that a rule derived from a mean: the mean of many rounded terms is more
exact than a rounded sum."""


def is_convolution(step: Contraction) -> bool:
    """Return whether this emitter writes the step as a convolution."""
    return step.tf32 and bool(layouts(step)) and size_of(step.n) > 1


def rows_of_part(step: Contraction) -> int:
    """Return the number of rows of a part that the step adds up, and so of a tile; 0 if it adds up
    none."""
    return next((op.rows for op in step.part_totals), 0)


def convolution_choices(step: Contraction, *, descriptors: bool = False) -> list[Knobs]:
    """Return products of shifted rows if possible, then tiles as wide as the output channels in
    both precisions; the precision that was faster, or is required, comes first."""
    image = image_of(step, "as is")
    channels = image.channel.size if image.channel else 1
    n_products = size_of(step.m) * size_of(step.n) * size_of(step.k)
    is_small = n_products < FEW_PRODUCTS and not rows_of_part(step)
    is_few = (channels < LEAST_CHANNELS and not step.stretches) or bool(step.batch)
    rounded = [_knobs(step, "tf32", layout, rows) for layout, rows in _tiles(step, channels)]
    exact = [_knobs(step, "parts", layout, rows) for layout, rows in _tiles(step, channels)]
    pairs = zip(exact, rounded, strict=True)
    others = [k for pair in pairs for k in (pair if is_small or is_few else reversed(pair))]
    is_plain = not (rows_of_part(step) or step.folds)
    shifted = _shifted(step, descriptors=descriptors) if is_plain else []
    if is_small:
        found = [others[0], *shifted[:1], *others[1:], *shifted[1:]]
    else:
        found = [*shifted[:1], *others[:2], *shifted[1:], *others[2:]]
    if not side_by_side(step):
        return found
    return [way for knobs in found for way in (_joined(knobs), {**knobs, "phases": "apart"})]


def _joined(knobs: Knobs) -> Knobs:
    """Return the knobs of a tile that has as many results, of two phases side by side. The first
    phase's sums are held while those of the second are computed: in three parts, 64 of them per
    thread spilled 60 bytes (compiled for sm_90)."""
    rows = max(16, int(knobs["block_m"]) // 2)
    is_tight = knobs["precision"] == "parts" and rows * int(knobs["block_n"]) >= 64 * 64
    return {
        **knobs, "block_m": rows, "warps": 8 if is_tight else knobs["warps"], "phases": "joined",
    }  # fmt: skip


def _shifted(step: Contraction, *, descriptors: bool) -> list[Knobs]:
    """Return tiles of shifted rows, if the outputs are side by side.

    Measured on an H200 at seven shapes: with 128 columns these two tiles were first and third of
    nine, 445 to 620 TFLOP/s; with 64 columns the first tile was first, 340 to 420 TFLOP/s. Two
    programs share a processor's shared memory.
    """
    grid = grid_of(step) if descriptors else None
    if grid is None:
        return []
    columns = min(128, max(LEAST_COLUMNS, power_of_two(size_of(step.n))))
    tiles = ((256, 32, 8, 4), (128, 64, 4, 4))
    if columns == 128:
        tiles = ((128, 64, 8 if _is_long(step) else 4, 3), (256, 64, 8, 3))
    found = []
    for rows, deepest, warps, stages in tiles:
        depths = [depth for depth in (64, 32) if depth <= deepest]
        depth = min(depths, key=lambda d: (math.ceil(grid.width / d) * d, -d))
        found.append({
            "block_m": rows, "block_n": columns, "block_k": depth, "warps": warps,
            "stages": stages, "precision": "tf32", "layout": "shifted",
        })  # fmt: skip
    return found


def _is_long(step: Contraction) -> bool:
    """Return whether the epilogue holds so many values at once that 128 sums per thread leave no
    room: two mish after the sums spilled 1.3 KB of registers per thread with four warps, none with
    eight."""
    return sum(isinstance(op, Compute) for op in step.body) > LONG_BODY


def _tiles(step: Contraction, channels: int) -> list[tuple[str, int]]:
    """Return layouts and rows of tiles.

    On an H200, from 16 to 31 channels the copy was faster, and with more channels it was where few
    phases share a position; elsewhere reading the image as it is was faster.
    """
    known = layouts(step)
    wins = channels >= LEAST_CHANNELS and not step.stretches
    first = "last" if wins and channels < 32 and "last" in known else "as is"
    second = "last" if first == "as is" and "last" in known and wins else "as is"
    return list(dict.fromkeys([(first, 128), (second, 128), (first, 64), (first, 256)]))


def _knobs(step: Contraction, precision: str, layout: str, rows: int) -> Knobs:
    columns = min(MOST_COLUMNS, max(LEAST_COLUMNS, power_of_two(size_of(step.n))))
    image = image_of(step, layout)
    depth = 32 if size_of(step.k) > 16 else 16
    if layout == "last" and image.channel and image.channel.size % 32 == 16:
        depth = 16
    rows = min(rows, max(16, power_of_two(size_of(step.m) // N_PROCESSORS)))
    if precision == "parts":  # registers hold the sums and a chunk of them
        rows = min(rows, 128)
    rows = rows_of_part(step) or rows
    is_tight = precision == "parts" or _is_long(step)
    warps = 8 if rows * columns > (128 * 64 if is_tight else 128 * 128) else 4
    return {
        "block_m": rows, "block_n": columns, "block_k": depth, "warps": warps, "stages": 3,
        "precision": precision, "layout": layout,
    }  # fmt: skip


SPACE = StepSpace(
    (
        Knob("block_m", powers_of_two(16, 256)),
        Knob("warps", powers_of_two(2, 8)),
        Knob("block_k", powers_of_two(16, 64)),
        Knob("block_n", powers_of_two(16, 256)),
        Knob("stages", STAGES),
        Knob("phases", ("joined", "apart"), is_ordered=False),
    ),
    lambda knobs: _fits(knobs),
)
"""The knobs of a convolution's kernel, besides precision and layout."""


def convolution_neighbours(step: Contraction, knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with one of them changed, then other layouts."""
    rows, columns = rows_of_part(step) or None, size_of(step.n) if step.folds else 0
    for near in SPACE.moves(knobs):
        if rows in (None, near["block_m"]) and near["block_n"] >= columns:
            yield near
    others = (layout for layout in layouts(step) if layout != knobs["layout"])
    yield from filter(_fits, ({**knobs, "layout": layout} for layout in others))


def _fits(knobs: Knobs) -> bool:
    rows, columns, depth = (int(knobs[f"block_{x}"]) for x in "mnk")
    in_parts = knobs["precision"] == "parts"
    phases = 2 if knobs.get("phases") == "joined" else 1
    results = rows * columns * phases
    sums = math.ceil(results / (32 * int(knobs["warps"]))) * (2 if in_parts else 1)
    of_image, of_weight = (2, 2) if knobs["layout"] == "shifted" else (4, 6 if in_parts else 4)
    held_bytes = (of_image * rows + of_weight * columns) * depth * int(knobs["stages"])
    return sums <= 128 and held_bytes <= SHARED_BYTES

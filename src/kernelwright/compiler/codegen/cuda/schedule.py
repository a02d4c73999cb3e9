"""The choice of knobs for a CUDA kernel: a first few from its sizes, and their neighbours."""

from __future__ import annotations

import math
from collections.abc import Iterator

from kernelwright.compiler.codegen.cuda.body import widest
from kernelwright.compiler.codegen.cuda.groups import GROUP_THREADS, blocks_together
from kernelwright.compiler.codegen.gpu.nest import Nest, nest
from kernelwright.compiler.codegen.gpu.passes import passes
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
from kernelwright.compiler.ir.ir import Kernel, Load, Reduce, Scan, Store

MAX_KEPT = 32
"""Number of values of one row that a thread keeps in registers; more would spill."""
MOST_KEPT_DOWN = 16
"""The same down a column, where blocks have up to 1024 threads with 64 registers each."""


def kernel_choices(kernel: Kernel) -> list[Knobs]:
    """Return knobs for a collapsed kernel, the most promising first."""
    shape = nest(kernel)
    if totals(kernel):
        return _sweeps(kernel, shape)
    if shape.kind == "point":
        options = _points(kernel, shape)
    elif shape.kind == "window" or (shape.has_scan and shape.kind == "column"):
        options = _windows(kernel)
    elif shape.kind == "row":
        options = _rows(kernel, shape)
    else:
        options = _columns(kernel, shape)
    return options


def _vector(kernel: Kernel, *, inner: bool) -> int:
    axes = kernel.inner if inner else kernel.outer
    if not axes:
        return 1
    moved = [op for op in kernel.body if isinstance(op, (Load, Store))]
    return widest(moved, axes[-1].name, axes[-1].size)


def _points(kernel: Kernel, shape: Nest) -> list[Knobs]:
    vector = _vector(kernel, inner=False)
    threads = 256 if shape.n_rows >= 256 * vector * N_PROCESSORS else 128
    options: list[Knobs] = []
    for width in (vector, vector // 2 or 1):
        for count in (threads, 2 * threads):
            options.append({"shape": "lanes", "threads": count, "vector": width})
    return options


def _windows(kernel: Kernel) -> list[Knobs]:
    """Return knobs with a window for each thread, or a pack of neighbouring ones, as channels are
    if they are last."""
    options: list[Knobs] = [{"shape": "lanes", "threads": threads} for threads in (256, 128, 512)]
    vector = _window_vector(kernel)
    packed = [{**knobs, "vector": vector} for knobs in options] if vector > 1 else []
    return [*packed, *options]


def _window_vector(kernel: Kernel) -> int:
    """Return the widest vector for a loop over windows: one that has a single pass, without scans
    and positions."""
    has_others = any(
        isinstance(op, Scan) or (isinstance(op, Reduce) and op.op.startswith("arg"))
        for op in kernel.body
    )
    sequence = passes(kernel)
    if has_others or len(sequence) != 2 or sequence[1].inner:
        return 1
    return _vector(kernel, inner=False)


def _row(threads: int, vector: int, *, rows: int = 1, keep: bool = False, parts: int = 1) -> Knobs:
    knobs = {"shape": "row", "threads": threads, "vector": vector, "rows": rows, "keep": keep}
    return {**knobs, "parts": parts} if parts > 1 else knobs


def _rows(kernel: Kernel, shape: Nest) -> list[Knobs]:
    """Return knobs with a warp per short row or a block per long one; rows that fit stay in
    registers."""
    vector = _vector(kernel, inner=True)
    if shape.has_scan:
        return _scanned_rows(shape, vector)
    parts = parts_wanted(shape, shape.n_rows, PART_COLUMNS) if can_split(kernel) else 1
    if parts > 1:
        return [
            _row(256, vector, parts=parts),
            _row(512, vector, parts=parts),
            _row(256, vector, parts=2 * parts),
        ]
    options: list[Knobs] = []
    together = blocks_together(kernel, vector)
    if together > 1:
        shared = {**_row(GROUP_THREADS, vector, keep=True), "together": together}
        options += [{**shared, "ahead": True}, {**shared, "ahead": False}]
    if shape.n_columns <= 32 * MAX_KEPT:
        rows = 4 if shape.n_rows >= 4 * N_PROCESSORS else 1
        options.append(_row(32, vector, rows=rows, keep=True))
        options.append(_row(32, vector, rows=2 * rows, keep=True))
    wanted = power_of_two(math.ceil(shape.n_columns / (2 * vector)))
    for threads in (wanted, wanted // 2, wanted // 4):
        threads = max(64, min(1024, threads))
        if math.ceil(shape.n_columns / (threads * vector)) * vector <= MAX_KEPT:
            options.append(_row(threads, vector, keep=True))
    options.append(_row(max(64, min(512, wanted)), vector))
    return options


def _scanned_rows(shape: Nest, vector: int) -> list[Knobs]:
    """Return knobs with a block for each scanned row, a pack of columns a thread at a time. Where
    the row has more columns, the next ones are on their way meanwhile."""
    wanted = max(32, min(256, power_of_two(math.ceil(shape.n_columns / vector))))
    sizes = (wanted, 2 * wanted, max(32, wanted // 2))
    return [
        {**_row(threads, vector), "ahead": shape.n_columns > threads * vector} for threads in sizes
    ]


def _sweeps(kernel: Kernel, shape: Nest) -> list[Knobs]:
    """Return knobs of a loop over rows that stay in registers, beside the totals of columns: warps
    with a row each where rows are short."""
    vector = _vector(kernel, inner=True)
    if shape.n_columns <= 512:
        options = [(_row(32, vector, rows=4, keep=True), n) for n in (16, 8, 32)]
    else:
        wanted = power_of_two(math.ceil(shape.n_columns / vector))
        sizes = [max(64, min(1024, n)) for n in (wanted, wanted // 2, 2 * wanted)]
        options = [(_row(n, vector, keep=True), max(1, 1024 // n)) for n in sizes]
        options.append((options[0][0], 2 * options[0][1]))
    sweeps = [
        {**knobs, "programs": _whole(shares(kernel, 1, n), knobs["rows"]), "ahead": vector > 1}
        for knobs, n in options
    ]
    return [sweeps[0], {**sweeps[0], "ahead": False}, *sweeps[1:]]


def _whole(programs: int, rows: int) -> int:
    """Return the number of programs, rounded up to whole blocks of ``rows`` each."""
    return -(-programs // rows) * rows


def _columns(kernel: Kernel, shape: Nest) -> list[Knobs]:
    """Return knobs with threads side by side on neighbouring rows, several of them along the inner
    axes."""
    is_few = shape.n_rows < 32 * N_PROCESSORS
    if is_few and LEAST_COLUMN <= shape.n_columns <= MOST_COLUMN:
        return _short_columns(shape)
    parts = 1
    if can_split(kernel):
        parts = parts_wanted(shape, math.ceil(shape.n_rows / 32), 64)
    kept = power_of_two(math.ceil(shape.n_columns / MOST_KEPT_DOWN))  # whole columns in registers
    best = 16 if parts > 1 else max(8, min(32, kept))
    options: list[Knobs] = []
    for lanes, height in dict.fromkeys(((32, best), (32, 16), (32, 8), (64, 8), (32, 32))):
        option = {"shape": "column", "threads": lanes, "rows": height, "keep": True}
        if parts > 1:
            least = math.ceil(shape.n_columns / (MOST_KEPT_DOWN * height))
            option["parts"] = max(parts * 8 // height, least)
        options.append(option)
    if shape.n_rows >= 128 * N_PROCESSORS:
        is_enough = shape.n_rows >= 1024 * N_PROCESSORS or shape.n_columns < LEAST_COLUMN
        options.insert(0 if is_enough else 1, {"shape": "lanes", "threads": 128})
    return options


def _short_columns(shape: Nest) -> list[Knobs]:
    """Return knobs with as many blocks as sectors of memory allow, if the rows are that few, and
    with a few columns for each thread: three kernels that share the columns take longer to start.
    """
    lanes = 32
    while lanes > SECTOR_FLOATS and shape.n_rows < lanes * N_PROCESSORS:
        lanes //= 2
    height = power_of_two(shape.n_columns // 4)
    tiles = [(lanes, height), (2 * lanes, height), (lanes, height // 2), (lanes, 2 * height)]
    sizes = [(threads, max(4, min(1024 // threads, rows))) for threads, rows in tiles]
    return [
        {"shape": "column", "threads": threads, "rows": rows, "keep": True}
        for threads, rows in sizes
    ]


def kernel_neighbours(kernel: Kernel, knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with one of them changed, or with rows read again instead of kept."""
    yield from _space(kernel, knobs).moves(knobs)
    if knobs.get("keep") and "programs" not in knobs:
        alone = {k: v for k, v in knobs.items() if k not in ("together", "ahead")}
        yield {**alone, "keep": False}
    if not knobs.get("together"):
        for parts in more_parts(kernel, knobs):
            yield {**{k: v for k, v in knobs.items() if k != "keep"}, "parts": parts}


def _space(kernel: Kernel, knobs: Knobs) -> StepSpace:
    inner = knobs["shape"] != "lanes"
    widest_vector = 1
    if knobs["shape"] != "column":
        is_window = not inner and bool(kernel.inner)
        widest_vector = _window_vector(kernel) if is_window else _vector(kernel, inner=inner)
    return StepSpace(
        (
            Knob("threads", powers_of_two(32 if knobs["shape"] != "column" else 8, 1024)),
            Knob("vector", powers_of_two(1, widest_vector)),
            Knob("rows", powers_of_two(1, 32 if knobs["shape"] != "column" else 128)),
            Knob("parts", powers_of_two(2, 4096)),
            Knob("programs", SHARES),
            Knob("ahead", (False, True), is_ordered=False),
        ),
        lambda choice: _is_legal(kernel, choice),
    )


def _is_legal(kernel: Kernel, knobs: Knobs) -> bool:
    """Return whether a block has at most 1024 threads, reductions have whole warps, and kept rows
    fit in registers."""
    rows = knobs.get("rows", 1)
    if knobs["threads"] * rows > 1024 or knobs.get("programs", rows) % rows:
        return False
    if knobs["shape"] == "row" and rows > 1 and knobs["threads"] != 32:
        return False
    if knobs.get("together"):
        return knobs["threads"] == GROUP_THREADS and rows == 1
    if knobs.get("keep") and knobs["shape"] == "row":
        packs = math.ceil(nest(kernel).n_columns / (knobs["threads"] * knobs["vector"]))
        return packs * knobs["vector"] <= 2 * MAX_KEPT
    return True

"""A contraction as one tiled kernel on simdgroup matrices: products, batched ones, convolutions.

A threadgroup of four simdgroups computes a tile of the result. It copies slabs of both operands to
threadgroup memory, with zeros beyond their edges, so that no size need be a multiple of anything.
Every operand's index is a sum of a term that depends on its rows and a term that depends on k, so a
convolution is a matrix product whose slabs are gathered: there is no im2col copy, and padding is a
condition. Half-precision operands are multiplied as they are, and sums are float.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernelwright.compiler.codegen.cuda.body import Body, Point, Value, inside
from kernelwright.compiler.codegen.cuda.ops import BYTES
from kernelwright.compiler.codegen.cuda.reserved import spelled
from kernelwright.compiler.codegen.gpu.axes import size_of, tensors_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name
from kernelwright.compiler.codegen.gpu.schedule import Knobs, needs_int64, power_of_two
from kernelwright.compiler.codegen.gpu.text import decomposed
from kernelwright.compiler.codegen.knobs import Knob, StepSpace, powers_of_two
from kernelwright.compiler.codegen.metal.language import METAL
from kernelwright.compiler.codegen.rounding import opposed_products
from kernelwright.compiler.ir.ir import Axis, Contraction, Load, Store, Stretch
from kernelwright.compiler.ir.sizes import is_free, names_in

THREADS = 128
"""Threads of a threadgroup: four simdgroups, two by two over the tile."""
LEAST_TILE = 16
"""Least side of a tile: one matrix of 8 by 8 for each simdgroup along it."""
SLAB_BYTES = 64
"""Bytes along k of a slab that a threadgroup copies at a time; chosen, not measured."""
N_WANTED = 64
"""Number of tiles that keep an Apple GPU busy: one for each core of the largest single one, the
40 of an M4 Max, and some. Source: Apple's specifications; not measured."""
_OWN = (
    "me", "lane", "group", "tile", "tile_m", "tile_n", "first_m", "first_n", "m", "n", "k", "at",
    "i", "j", "a_slab", "b_slab", "strips", "strip", "sums", "a_part", "b_part", "down", "across",
    "value", "TILE_M", "TILE_N", "TILE_K", "HIGH", "WIDE",
    "A_ROW", "B_ROW",
)  # fmt: skip
"""Names that the product's own statements use."""


def product_choices(step: Contraction) -> list[Knobs]:
    """Return knobs, the most promising first; none was measured."""
    m, n, k = (int(size_of(axes)) for axes in (step.m, step.n, step.k))
    deep = min(SLAB_BYTES // BYTES[_operand_dtype(step)], max(8, power_of_two(k)))

    def knobs(most_m: int, most_n: int) -> Knobs:
        high, wide = (
            max(LEAST_TILE, min(most, power_of_two(size)))
            for most, size in ((most_m, m), (most_n, n))
        )
        return {"tile_m": high, "tile_n": wide, "tile_k": deep}

    n_tiles = size_of(step.batch) * math.ceil(m / 64) * math.ceil(n / 64)
    sizes = [(64, 64), (32, 64), (64, 32), (32, 32)]
    return [knobs(*size) for size in (sizes if n_tiles >= N_WANTED else reversed(sizes))]


SPACE = StepSpace(
    (
        Knob("tile_m", powers_of_two(LEAST_TILE, 64)),
        Knob("tile_n", powers_of_two(LEAST_TILE, 64)),
        Knob("tile_k", powers_of_two(8, 32)),
    )
)
"""The knobs of a product's kernel. The largest tiles take 22 of 32 KiB of threadgroup memory."""


def product_neighbours(knobs: Knobs) -> Iterator[Knobs]:
    """Yield knobs with one of them changed."""
    return SPACE.moves(knobs)


def emit_product(step: Contraction, knobs: Mapping[str, Any]) -> Launched:
    """Emit ``step`` in MSL under ``knobs``: tile_m, tile_n, tile_k."""
    writer = _Writer(step, knobs)
    text = writer.text()
    given = [*(tensor.name for tensor in tensors_of(step)), *names_in(step)]
    return Launched(text, METAL.launch(writer.name, writer.n_tiles, (THREADS, 1), given))


def _operand_dtype(step: Contraction) -> str:
    """Return the dtype in which both operands are multiplied."""
    dtypes = {step.a.tensor.dtype, step.b.tensor.dtype}
    return dtypes.pop() if len(dtypes) == 1 else "float32"


@dataclass(frozen=True)
class _Operand:
    """One factor, as the tile reads it."""

    letter: str
    """'a' has rows m and columns k, 'b' has rows k and columns n."""
    load: Load
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    stretches: tuple[Stretch, ...]

    @property
    def sides(self) -> tuple[str, str]:
        return ("m", "k") if self.letter == "a" else ("k", "n")

    @property
    def runs_along_rows(self) -> bool:
        """Whether neighbours in memory are neighbours along the rows' axes, not the columns'."""
        rows, columns = (
            any(self.load.index.coefficient(axis.name) == 1 for axis in axes)
            for axes in (self.rows, self.columns)
        )
        return rows and not columns


class _Writer:
    """The writer of one product's text."""

    def __init__(self, step: Contraction, knobs: Mapping[str, Any]) -> None:
        self.step = step = spelled(step, (*METAL.words, *_OWN))
        self.name = function_name(step)
        self.tensors = tensors_of(step)
        self.tile = {side: int(knobs[f"tile_{side}"]) for side in "mnk"}
        first, second = (step.a, step.m, step.stretches), (step.b, step.n, ())
        if _runs_along(step, step.m):  # results that lie side by side are columns of the tile
            first, second = second, first
        self.axes = {"m": first[1], "n": second[1], "k": step.k}
        self.a = _Operand("a", first[0], first[1], step.k, first[2])
        self.b = _Operand("b", second[0], step.k, second[1], second[2])
        self.dtype = METAL.types[_operand_dtype(step)]
        self.index = METAL.types["int64" if needs_int64(step) else "int32"]
        self.lines = Lines(1)
        self.names = Names([*METAL.words, *_OWN, self.name, *(t.name for t in self.tensors)])
        axes = (*step.batch, *step.m, *step.n, *step.k)
        self.point = Point({}, {axis.name: axis.size for axis in axes})

    def _size(self, side: str) -> int:
        return size_of(self.axes[side])

    @property
    def n_tiles(self) -> int:
        m, n = (-(-self._size(side) // self.tile[side]) for side in "mn")
        return size_of(self.step.batch) * m * n

    def text(self) -> str:
        self._place()
        self._sum()
        self._epilogue()
        written = {tensor.name for tensor in self.step.writes}
        tensors = [(t.name, t.dtype, t.name in written) for t in self.tensors]
        sizes = [(name, self.index) for name in names_in(self.step)]
        head = Lines()
        head.add(*(f"// {line}" for line in self.step.origin))
        head.add(*METAL.head(self.name, tensors, sizes, THREADS, together=False))
        return f"{head.text()}\n{self.lines.text()}\n}}\n"

    def _open(self, text: str) -> None:
        self.lines.add(text)
        self.lines.depth += 1

    def _close(self) -> None:
        self.lines.depth -= 1
        self.lines.add("}")

    def _name_axes(self, linear: str, axes: tuple[Axis, ...], names: Names, point: Point) -> None:
        """Define the axes from their row-major number."""
        for axis, text in decomposed(linear, axes, "/").items():
            point.axis_text[axis] = linear if text == linear else names.new(axis)
            if text != linear:
                self.lines.add(f"const {self.index} {point.axis_text[axis]} = {text};")

    def _place(self) -> None:
        """Define which tile the threadgroup computes, and where each simdgroup's part begins."""
        m, n, k = (self.tile[side] for side in "mnk")
        pad = 16 // BYTES[_operand_dtype(self.step)]
        self.lines.add(
            f"constexpr int TILE_M = {m}, TILE_N = {n}, TILE_K = {k}, THREADS = {THREADS};",
            "constexpr int HIGH = TILE_M / 16, WIDE = TILE_N / 16;",
            f"constexpr int A_ROW = TILE_K + {pad}, B_ROW = TILE_N + {pad};"
            "  // rows begin in different banks",
            f"threadgroup {self.dtype} a_slab[TILE_M * A_ROW];",
            f"threadgroup {self.dtype} b_slab[TILE_K * B_ROW];",
            "threadgroup float strips[THREADS / 32 * 64 * WIDE];",
            "const int me = threadIdx.x, lane = me % 32, group = me / 32;",
            "const int down = group / 2 * (TILE_M / 2), across = group % 2 * (TILE_N / 2);",
        )
        tiles_m, tiles_n = (self._tiles(side) for side in "mn")
        self.lines.add(f"const {self.index} tile = blockIdx.x;")
        batch = self.step.batch
        if batch:
            number = self.names.new("batch")
            self.lines.add(f"const {self.index} {number} = tile / (({tiles_m}) * ({tiles_n}));")
            self._name_axes(number, batch, self.names, self.point)
        tile_m = f"tile / ({tiles_n})" + (f" % ({tiles_m})" if batch else "")
        self.lines.add(
            f"const {self.index} first_m = {tile_m} * TILE_M;",
            f"const {self.index} first_n = tile % ({tiles_n}) * TILE_N;",
        )

    def _tiles(self, side: str) -> str:
        """Return the number of tiles along a side, as text in C."""
        size, tile = self._size(side), self.tile[side]
        return f"({size} + {tile - 1}) / {tile}" if is_free(size) else str(-(-size // tile))

    # --- the sum over k --------------------------------------------------------------------

    def _sum(self) -> None:
        barrier = "metal::threadgroup_barrier(metal::mem_flags::mem_threadgroup);"
        part = f"metal::simdgroup_matrix<{self.dtype}, 8, 8>"
        self.lines.add("metal::simdgroup_matrix<float, 8, 8> sums[HIGH][WIDE];")
        self.lines.add("#pragma unroll")
        self._open("for (int i = 0; i < HIGH * WIDE; ++i) {")
        zeros = "metal::make_filled_simdgroup_matrix<float, 8, 8>(0.0f)"
        self.lines.add(f"sums[i / WIDE][i % WIDE] = {zeros};")
        self._close()
        self._open(f"for ({self.index} start = 0; start < {self._size('k')}; start += TILE_K) {{")
        self._slab(self.a)
        self._slab(self.b)
        self.lines.add(barrier, "#pragma unroll")
        self._open("for (int at = 0; at < TILE_K; at += 8) {")
        self.lines.add(
            f"{part} a_part[HIGH], b_part[WIDE];",
            "#pragma unroll",
            "for (int i = 0; i < HIGH; ++i)",
            "    metal::simdgroup_load(a_part[i], a_slab + (down + 8 * i) * A_ROW + at, A_ROW);",
            "#pragma unroll",
            "for (int j = 0; j < WIDE; ++j)",
            "    metal::simdgroup_load(b_part[j], b_slab + at * B_ROW + across + 8 * j, B_ROW);",
            "#pragma unroll",
            "for (int i = 0; i < HIGH; ++i)",
            "    #pragma unroll",
            "    for (int j = 0; j < WIDE; ++j)",
            "        metal::simdgroup_multiply_accumulate("
            "sums[i][j], a_part[i], b_part[j], sums[i][j]);",
        )
        self._close()
        self.lines.add(barrier)
        self._close()

    def _slab(self, operand: _Operand) -> None:
        """Copy the operand's part for this tile and these k to threadgroup memory."""
        sides = operand.sides
        rows, columns = (f"TILE_{side.upper()}" for side in sides)
        row, column = f"at / {columns}", f"at % {columns}"
        if operand.runs_along_rows:
            row, column = f"at % {rows}", f"at / {rows}"
        starts = {"m": "first_m", "n": "first_n", "k": "start"}
        self.lines.add("#pragma unroll")
        self._open(f"for (int at = me; at < {rows} * {columns}; at += THREADS) {{")
        for side, text in zip(sides, (row, column), strict=True):
            self.lines.add(f"const {self.index} {side} = {starts[side]} + {text};")
        self.lines.add(f"{self.dtype} value = {self.dtype}(0.0f);")
        edges = [
            f"{side} < {self._size(side)}"
            for side in sides
            if is_free(self._size(side)) or self._size(side) % self.tile[side]
        ]
        if edges:
            self._open(f"if ({' && '.join(edges)}) {{")
        self._value(operand)
        if edges:
            self._close()
        place = f"({row}) * {operand.letter.upper()}_ROW + {column}"
        self.lines.add(f"{operand.letter}_slab[{place}] = value;")
        self._close()

    def _value(self, operand: _Operand) -> None:
        """Read the operand at rows and columns that exist."""
        names = self.names.fork()
        point = Point(dict(self.point.axis_text), self.point.sizes)
        for side, axes in zip(operand.sides, (operand.rows, operand.columns), strict=True):
            self._name_axes(side, axes, names, point)
        conditions = [text for bound in operand.load.bounds for text in inside(bound, point)]
        for stretch in operand.stretches:
            conditions += self._stretch(stretch, names, point)
        if conditions:
            self._open(f"if ({' && '.join(conditions)}) {{")
        body = Body(self.lines, names, language=METAL)
        body.emit(replace(operand.load, bounds=()), point)
        self.lines.add(f"value = {self.dtype}({body.values[operand.load.name].text});")
        if conditions:
            self._close()

    def _stretch(self, stretch: Stretch, names: Names, point: Point) -> list[str]:
        """Put the position that a transposed convolution reads at the stretch's axis, and return
        the conditions under which it is one."""
        tap, name = point.axis_text[stretch.tap], names.new("position")
        out = f"{point.axis_text[stretch.out]} + {stretch.padding}"
        self.lines.add(f"const {self.index} {name} = {out} - {tap} * {stretch.dilation};")
        point.axis_text[stretch.out] = f"({name} / {stretch.stride})"
        whole = [f"{name} % {stretch.stride} == 0"] if stretch.stride > 1 else []
        return [f"{name} >= 0", *whole, f"{name} < {stretch.size * stretch.stride}"]

    # --- what follows the product ----------------------------------------------------------

    def _epilogue(self) -> None:
        """Emit the step's body on every sum. No lane may know which sums it holds, so each
        simdgroup writes a strip of eight rows to its own part of threadgroup memory first."""
        barrier = "metal::simdgroup_barrier(metal::mem_flags::mem_threadgroup);"
        self.lines.add("threadgroup float* strip = strips + group * 64 * WIDE;")
        self.lines.add("#pragma unroll")
        self._open("for (int i = 0; i < HIGH; ++i) {")
        self.lines.add(
            "#pragma unroll",
            "for (int j = 0; j < WIDE; ++j)",
            "    metal::simdgroup_store(sums[i][j], strip + 8 * j, 8 * WIDE);",
            barrier,
        )
        self._open("for (int at = lane; at < 64 * WIDE; at += 32) {")
        self.lines.add(
            f"const {self.index} m = first_m + down + 8 * i + at / (8 * WIDE);",
            f"const {self.index} n = first_n + across + at % (8 * WIDE);",
        )
        edges = [
            f"{side} < {self._size(side)}"
            for side in "mn"
            if is_free(self._size(side)) or self._size(side) % self.tile[side]
        ]
        if edges:
            self._open(f"if ({' && '.join(edges)}) {{")
        names = self.names.fork()
        for side in "mn":
            self._name_axes(side, self.axes[side], names, self.point)
        body = Body(self.lines, names, opposed_products(self.step.body), language=METAL)
        body.values["acc"] = Value("strip[at]", "float32")
        for op in self.step.body:
            body.emit(op, self.point)
        if edges:
            self._close()
        self._close()
        self.lines.add(barrier)
        self._close()


def _runs_along(step: Contraction, axes: tuple[Axis, ...]) -> bool:
    """Return whether results that are neighbours in memory are neighbours along ``axes``."""
    stores = [op for op in step.body if isinstance(op, Store)]
    return any(op.index.coefficient(axis.name) == 1 for op in stores for axis in axes)

"""A contraction as one tiled Triton kernel: matrix products, batched ones, convolutions.

Every operand's index is a sum of a term that depends on its rows and a term that depends on k, so a
convolution is a matrix product whose tiles are gathered: there is no im2col copy, and padding is a
mask.

float32 has three variants. ``ieee`` multiplies on the ordinary cores. ``bf16x3_6`` splits every
operand into three bfloat16 parts, which hold all 24 bits, and adds the six products that matter on
the tensor cores. ``fp16x2_3`` scales rows to one magnitude, and takes two float16 parts and three
products. Tensor cores truncate when they accumulate, so every block of k is summed separately and
added to the total in float32. Measured on an H200 at 4096 x 4096 x 4096: 1.9 and 3.6 times cuBLAS's
float32 speed at a fifth and a quarter of its error. Infinity times a part that is zero is NaN, so
results that are not finite are recomputed from the unsplit operands.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name
from kernelwright.compiler.codegen.gpu.schedule import needs_int64
from kernelwright.compiler.codegen.gpu.text import affine, decomposed, grouped, row_number
from kernelwright.compiler.codegen.triton.body import Body, Tile, Value, inside, tile_name
from kernelwright.compiler.codegen.triton.kernel import RESERVED, function_text, launch_text
from kernelwright.compiler.codegen.triton.parts import FORMS, Parts
from kernelwright.compiler.codegen.triton.split import Rows, split_inside
from kernelwright.compiler.codegen.triton.triangle import end_of_k
from kernelwright.compiler.ir.ir import Affine, Axis, Contraction, Load

_OWN = (
    "m", "n", "k", "live_m", "live_n", "live_k", "tile_m", "tile_n", "group", "height", "acc",
    "chunk", "a", "b", "a0", "a1", "a2", "b0", "b1", "b2", "a_rest", "b_rest", "a_index", "b_index",
    "a_in_three", "b_in_three", "a_in_two", "b_in_two", "a_inverse", "b_inverse", "low", "zero",
    "nothing", "exact", "a_k", "b_k", "piece", "start", "row", "column", "live_row", "live_column",
)  # fmt: skip
"""Names that the product's own statements use."""
_PIECE = 64
"""Side of the pieces in which a tile that is not finite is recomputed."""
_LARGE = 2**31 - 2**20
"""Number of elements of a part from which its index may exceed 2^31."""


def emit_product(step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``step`` in Triton under ``knobs``: block_m, block_n, block_k, group, precision, split,
    descriptors."""
    writer = _Writer(step, knobs, interpreted=interpreted)
    text = writer.text()
    launch = launch_text(step, writer.grid, writer.pointers.values(), writer.constants, knobs)
    return Launched(text, launch, writer.parts.derived() if writer.parts else ())


class _Writer:
    """The writer of one product's text."""

    def __init__(self, step: Contraction, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        self.step = step
        self.interpreted = interpreted
        self.form = FORMS.get(knobs["precision"])
        self.m, self.n, self.k = size_of(step.m), size_of(step.n), size_of(step.k)
        self.block = {x: int(knobs[f"block_{x}"]) for x in "mnk"}
        self.group = int(knobs["group"])
        self.tiles_m = -(-self.m // self.block["m"])
        self.tiles_n = -(-self.n // self.block["n"])
        self.constants = {
            "BLOCK_M": self.block["m"], "BLOCK_N": self.block["n"], "BLOCK_K": self.block["k"],
            "TILES_M": self.tiles_m, "TILES_N": self.tiles_n, "GROUP": self.group,
        }  # fmt: skip
        is_split = self.form and knobs["split"] == "before"
        self.parts = Parts.of(step, self.form, self.block) if is_split else None
        rows = self.parts.rows if self.parts else {"a": None, "b": None}
        self.rows: Mapping[str, Rows | None] = rows
        large = any(rows and rows.n_elements >= _LARGE for rows in self.rows.values())
        self.wide = needs_int64(step) or large
        self.descriptors = bool(knobs.get("descriptors")) and not self.wide
        self.pointers = self._pointers()
        sizes = {a.name: a.size for a in (*step.batch, *step.m, *step.n, *step.k)}
        self.tile = Tile({}, sizes)
        self.names = Names([*RESERVED, *_OWN, function_name(step), *self.pointers, *self.constants])
        self.lines = Lines(1)
        self.axis: dict[str, str] = {}

    @property
    def grid(self) -> int:
        return size_of(self.step.batch) * self.tiles_m * self.tiles_n

    def _pointers(self) -> dict[str, str]:
        """Return the arguments that the launch passes, by parameter. An operand that is split
        beforehand is passed as its parts, and also whole, for results that are not finite."""
        pointers: dict[str, str] = {}
        if self.parts:
            pointers = self.parts.pointers(self.block, descriptors=self.descriptors)
        body = [op.tensor for op in self.step.body if isinstance(op, Load)]
        whole = (self.step.a.tensor, self.step.b.tensor, *body, *self.step.writes)
        return pointers | {tile_name(tensor): tensor.name for tensor in whole}

    def text(self) -> str:
        self._place()
        starts = {
            "a": self._start("a", self.step.a, (*self.step.batch, *self.step.m)),
            "b": self._start("b", self.step.b, (*self.step.batch, *self.step.n)),
        }
        self.lines.add("acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
        self.lines.add(*(self.form.before() if self.form else ()))
        self.lines.add(f"for start in range(0, {end_of_k(self.step, self.k)}, BLOCK_K):")
        self.lines.depth += 1
        self._loop(starts)
        self.lines.depth -= 1
        if self.form:
            self._where_finite()
        else:
            self._epilogue("acc")
        return function_text(self.step, self.pointers, self.constants, self.lines)

    def _place(self) -> None:
        """Define which tile this program computes, and the axes of its rows and columns."""
        program = "tl.program_id(0)" + (".to(tl.int64)" if self.wide else "")
        pid = "pid"
        if self.step.batch:
            batch = self.names.new("batch")
            self.lines.add(
                f"{batch} = {program} // (TILES_M * TILES_N)",
                f"{pid} = {program} % (TILES_M * TILES_N)",
            )
            self._name_axes(batch, self.step.batch)
        else:
            self.lines.add(f"{pid} = {program}")
        self.lines.add(
            "# GROUP rows of tiles at a time: neighbouring programs share operands in the L2 cache",
            f"group = {pid} // (GROUP * TILES_N)",
            "height = min(TILES_M - group * GROUP, GROUP)",
            f"tile_m = group * GROUP + {pid} % (GROUP * TILES_N) % height",
            f"tile_n = {pid} % (GROUP * TILES_N) // height",
        )
        self._side("m", "m", "tile_m * BLOCK_M", self.block["m"])
        self._side("n", "n", "tile_n * BLOCK_N", self.block["n"])

    def _side(self, letter: str, name: str, start: str, width: int) -> None:
        """Define a tile's rows (m) or columns (n), which begin at ``start``, and their axes."""
        axes, size = (self.step.m, self.m) if letter == "m" else (self.step.n, self.n)
        big = f"BLOCK_{letter.upper()}" if width == self.block[letter] else str(width)
        self.lines.add(f"{name} = {start} + tl.arange(0, {big})")
        mask = ""
        if size % self.block[letter]:
            mask = f"live_{name}"
            self.lines.add(f"{mask} = {name} < {size}")
        self._name_axes(name, axes, mask)

    def _name_axes(self, linear: str, axes: tuple[Axis, ...], mask: str = "") -> None:
        for axis, text in decomposed(linear, axes, "//").items():
            name = linear if text == linear else self.names.new(axis)
            if text != linear:
                self.lines.add(f"{name} = {text}")
            self.axis[axis] = name
            if mask:
                self.tile.masks[axis] = mask

    def _start(self, letter: str, load: Load, axes: tuple[Axis, ...]) -> str:
        """Define the part of an operand's index that stays the same along k; return its name."""
        if rows := self.rows[letter]:
            return self._start_of_rows(letter, rows)
        width = "BLOCK_M" if letter == "a" else "BLOCK_N"
        return self._start_in_tensor(f"{letter}_start", load, axes, width)

    def _start_of_rows(self, letter: str, rows: Rows) -> str:
        """Define where the rows of parts begin; with descriptors, the number of the first row."""
        name = self.names.new(f"{letter}_start")
        side = "m" if letter == "a" else "n"
        if self.descriptors:
            start = self._row(rows, letter, f"tile_{side} * BLOCK_{side.upper()}")
        else:
            start = f"{grouped(self._row(rows, letter, side))} * {rows.padded_k}"
        self.lines.add(f"{name} = {start}")
        return name

    def _row(self, rows: Rows, letter: str, here: str) -> str:
        """Return the number of the operand's row that row ``here`` of the product's side reads."""
        axes = self.step.m if letter == "a" else self.step.n
        lead = rows.axes[: len(rows.axes) - len(axes)]
        if not lead:
            return here
        return f"{grouped(row_number(lead, self.axis))} * {size_of(axes)} + {here}"

    def _start_in_tensor(self, wanted: str, load: Load, axes: tuple[Axis, ...], width: str) -> str:
        known = {axis.name for axis in axes}
        index = Affine(tuple(t for t in load.index.terms if t[0] in known), load.index.offset)
        name = self.names.new(wanted)
        text = affine(index, self.axis)
        side = axes[len(self.step.batch) :]
        if not any(index.coefficient(axis.name) for axis in side):
            text = f"{text} + tl.zeros(({width},), tl.int32)"
        self.lines.add(f"{name} = {text}")
        return name

    # --- the loop over k -------------------------------------------------------------------

    def _loop(self, starts: Mapping[str, str]) -> None:
        if not all(self.rows.values()):
            start = "start.to(tl.int64)" if self.wide else "start"
            self.lines.add(f"k = {start} + tl.arange(0, BLOCK_K)")
            mask = ""
            if self.k % self.block["k"]:
                mask = "live_k"
                self.lines.add(f"{mask} = k < {self.k}")
            self._name_axes("k", self.step.k, mask)
        elif not self.descriptors:
            self.lines.add("k = start + tl.arange(0, BLOCK_K)")
        self._operand("a", self.step.a, starts["a"], rows=self.step.m)
        self._operand("b", self.step.b, starts["b"], rows=self.step.n)
        if not self.form:
            a, b = self._as_multiplied()
            precision = ', input_precision="ieee"' if a == "a" and self._is_single() else ""
            self.lines.add(f"acc = tl.dot({a}, {b}, acc{precision})")
            return
        if not self.parts:
            for letter in "ab":
                self.lines.add(*split_inside(letter, interpreted=self.interpreted))
        self.lines.add(*self.form.multiplied(interpreted=self.interpreted))

    def _is_single(self) -> bool:
        return self.step.a.tensor.dtype == "float32" or self.step.b.tensor.dtype == "float32"

    def _as_multiplied(self) -> tuple[str, str]:
        """Return the operands' texts converted to one dtype that the dot accepts."""
        dtypes = {self.step.a.tensor.dtype, self.step.b.tensor.dtype}
        if dtypes == {"float32"} or (len(dtypes) == 1 and not self.interpreted):
            return "a", "b"
        self.lines.add("a = a.to(tl.float32)", "b = b.to(tl.float32)")
        return "a", "b"

    def _operand(self, letter: str, load: Load, start: str, *, rows: tuple[Axis, ...]) -> None:
        """Load a tile of an operand; a is (m, k), b is (k, n)."""
        padded = self.rows[letter]
        if self.parts and padded:
            self._operand_in_rows(self.parts, letter, padded, start)
            return
        k_axes = {axis.name for axis in self.step.k}
        along = Affine(tuple(t for t in load.index.terms if t[0] in k_axes))
        row, column = ("[:, None]", "[None, :]") if letter == "a" else ("[None, :]", "[:, None]")
        text = affine(along, self.axis) if along.terms else "k * 0"
        offset = f"({text})" if not text.isidentifier() else text
        tile = Tile(self._shaped(rows, row, column), self.tile.sizes)
        masks = [
            self.tile.masks[group[0].name] + side
            for group, side in ((rows, row), (self.step.k, column))
            if group and group[0].name in self.tile.masks
        ]
        if not self.step.k:  # a sum of one product
            masks.append(f"live_k{column}")
        for bound in load.bounds:
            masks.extend(inside(bound, tile))
        index = f"{start}{row} + {offset}{column}"
        guard = f", mask={' & '.join(masks)}, other=0.0" if masks else ""
        if self.parts:
            self._load_parts(self.parts, letter, index, guard)
        else:
            self.lines.add(f"{letter} = tl.load({tile_name(load.tensor)} + {index}{guard})")

    def _operand_in_rows(self, parts: Parts, letter: str, rows: Rows, start: str) -> None:
        """Load a tile of every part; padding makes masks unnecessary."""
        if not self.descriptors:
            row, column = (
                ("[:, None]", "[None, :]") if letter == "a" else ("[None, :]", "[:, None]")
            )
            self._load_parts(parts, letter, f"{start}{row} + k{column}", "")
            return
        turned = ".T" if letter == "b" else ""
        for part in range(parts.form.n):
            first = f"{start} + {part * rows.padded_rows}" if part else start
            tile = f"{letter}_{parts.form.word}.load([{first}, start])"
            self.lines.add(f"{letter}{part} = {tile}{turned}")

    def _load_parts(self, parts: Parts, letter: str, index: str, guard: str) -> None:
        """Load the same tile of every part."""
        self.lines.add(f"{letter}_index = {index}")
        for part in range(parts.form.n):
            pointer = f"{letter}_{parts.form.word}_ptr"
            pointer += f" + {part * parts.distance(letter)}" if part else ""
            self.lines.add(f"{letter}{part} = tl.load({pointer} + {letter}_index{guard})")

    def _shaped(self, rows: tuple[Axis, ...], row: str, column: str) -> dict[str, str]:
        """Return each axis's expression, shaped for the dimension of the tile that it runs
        along."""
        texts = {axis.name: self.axis[axis.name] for axis in self.step.batch}
        texts |= {axis.name: self.axis[axis.name] + row for axis in rows}
        return texts | {axis.name: self.axis[axis.name] + column for axis in self.step.k}

    # --- what follows the product ----------------------------------------------------------

    def _where_finite(self) -> None:
        """Emit the epilogue. A tile that is not finite is first recomputed from the unsplit
        operands, piece by piece: small pieces take no registers from the loop above."""
        if self.form and self.form.is_scaled:
            self._undo_scales()
        self.lines.add('if tl.min((tl.abs(acc) < float("inf")).to(tl.int32)) == 1:')
        self.lines.depth += 1
        known = self.axis, self.tile
        self.axis, self.tile = dict(self.axis), self.tile.copy()
        self._epilogue("acc")
        self.axis, self.tile = known
        self.lines.depth -= 1
        self.lines.add(
            "else:",
            "    # Infinite or NaN operands, or parts that overflowed, spoil more than in float32:",
            "    # such a tile once more, piece by piece, one k at a time",
        )
        self.lines.depth += 1
        self._in_pieces()
        self.lines.depth -= 1

    def _undo_scales(self) -> None:
        """Divide by both rows' scales, first by the larger, so that nothing overflows in
        between."""
        self.lines.add("acc += low * (1.0 / 2048)  # low parts are 2048 times as large")
        for letter, side, shape in (("a", "m", "[:, None]"), ("b", "n", "[None, :]")):
            rows = self.rows[letter]
            row = self._row(rows, letter, side) if rows else side
            exponent = f"exponent_of_scale(tl.load({letter}_largest_ptr + {row}))"
            inverse = f"((254 - {exponent}) << 23).to(tl.float32, bitcast=True){shape}"
            self.lines.add(f"{letter}_inverse = {inverse}")
        self.lines.add("acc *= tl.minimum(a_inverse, b_inverse)")
        self.lines.add("acc *= tl.maximum(a_inverse, b_inverse)")

    def _in_pieces(self) -> None:
        """Recompute the tile in float32, in pieces small enough for any schedule's registers."""
        high, wide = (min(_PIECE, self.block[x]) for x in "mn")
        across = self.block["n"] // wide
        self.lines.add(f"for piece in range({self.block['m'] // high * across}):")
        self.lines.depth += 1
        self._side("m", "row", f"tile_m * BLOCK_M + piece // {across} * {high}", high)
        self._side("n", "column", f"tile_n * BLOCK_N + piece % {across} * {wide}", wide)
        self._exactly(high, wide)
        self._epilogue("exact")
        self.lines.depth -= 1

    def _exactly(self, high: int, wide: int) -> None:
        """Emit the sums of a piece in float32."""
        step = self.step
        sides = (("a", step.a, step.m, high), ("b", step.b, step.n, wide))
        starts = [
            self._start_in_tensor(f"{letter}_from", load, (*step.batch, *side), str(width))
            for letter, load, side, width in sides
        ]
        self.lines.add(f"exact = tl.zeros(({high}, {wide}), dtype=tl.float32)")
        self.lines.add(f"for {'start' if self.wide else 'k'} in range({self.k}):")
        self.lines.depth += 1
        if self.wide:
            self.lines.add("k = start.to(tl.int64)")
        self._name_axes("k", step.k)
        for (letter, load, side, _), start in zip(sides, starts, strict=True):
            self._column(letter, load, start, side)
        self.lines.add("exact += a_k[:, None] * b_k[None, :]")
        self.lines.depth -= 1

    def _column(self, letter: str, load: Load, start: str, side: tuple[Axis, ...]) -> None:
        """Load an operand's vector along its rows at one k."""
        k_axes = {axis.name for axis in self.step.k}
        along = Affine(tuple(t for t in load.index.terms if t[0] in k_axes))
        masks = [self.tile.masks[axis.name] for axis in side[:1] if axis.name in self.tile.masks]
        tile = Tile(self.axis, self.tile.sizes)
        masks += [text for bound in load.bounds for text in inside(bound, tile)]
        guard = f", mask={' & '.join(masks)}, other=0.0" if masks else ""
        index = f"{start} + {affine(along, self.axis)}"
        self.lines.add(f"{letter}_k = tl.load({tile_name(load.tensor)} + {index}{guard})")

    def _epilogue(self, sums: str) -> None:
        """Emit the step's body on the tile of sums."""
        tile = self.tile
        for axis in self.step.batch:
            tile.axis_text[axis.name] = self.axis[axis.name]
        for axes, shape in ((self.step.m, "[:, None]"), (self.step.n, "[None, :]")):
            for axis in axes:
                tile.axis_text[axis.name] = self.axis[axis.name] + shape
                if axis.name in tile.masks:
                    tile.masks[axis.name] += shape
        body = Body(self.lines, self.names, interpreted=self.interpreted)
        outer = frozenset(a.name for a in (*self.step.batch, *self.step.m, *self.step.n))
        body.values["acc"] = Value(sums, "float32", outer)
        for op in self.step.body:
            body.emit(op, tile)

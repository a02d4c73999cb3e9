"""A contraction as one tiled Triton kernel: matrix products, batched ones, convolutions.

Every operand's index is a sum of a term that depends on its rows and a term that depends on k, so a
convolution is a matrix product whose tiles are gathered: there is no im2col copy, and padding is a
mask.

An operand may also be computed in the tile: rows are looked up, weights of 8 or 4 bits unpacked.
Rows may be in groups, each with a matrix of its own; a tile finds its group from the groups' ends.

float32 has three variants. ``ieee`` multiplies on the ordinary cores. ``bf16x3_6`` splits every
operand into three bfloat16 parts, which hold all 24 bits, and adds the six products that matter on
the tensor cores. ``fp16x2_3`` scales rows to one magnitude, and takes two float16 parts and three
products. Tensor cores truncate when they accumulate, so every block of k is summed separately and
added to the total in float32. Measured on an H200 at 4096 x 4096 x 4096: 1.9 and 3.6 times cuBLAS's
float32 speed at a fifth and a quarter of its error. Infinity times a part that is zero is NaN, so
results that are not finite are recomputed from the unsplit operands.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name
from kernelwright.compiler.codegen.gpu.schedule import needs_int64, power_of_two
from kernelwright.compiler.codegen.gpu.text import affine, decomposed, grouped, row_number
from kernelwright.compiler.codegen.triton.body import Body, Tile, Value, inside, tile_name
from kernelwright.compiler.codegen.triton.descriptors import matrix_of
from kernelwright.compiler.codegen.triton.kernel import RESERVED, function_text, launch_text
from kernelwright.compiler.codegen.triton.ops import TYPES
from kernelwright.compiler.codegen.triton.pairs import changed, halves
from kernelwright.compiler.codegen.triton.parts import FORMS, Parts
from kernelwright.compiler.codegen.triton.split import Rows, split_inside, strides_along
from kernelwright.compiler.codegen.triton.triangle import end_of_k
from kernelwright.compiler.ir.ir import Affine, Axis, Contraction, Groups, Load, Op, Store
from kernelwright.compiler.ir.ops import arguments, indices

_OWN = (
    "m", "n", "k", "live_m", "live_n", "live_k", "tile_m", "tile_n", "group", "height", "acc",
    "chunk", "a", "b", "a0", "a1", "a2", "b0", "b1", "b2", "a_rest", "b_rest", "a_index", "b_index",
    "a_in_three", "b_in_three", "a_in_two", "b_in_two", "a_inverse", "b_inverse", "low", "zero",
    "nothing", "exact", "a_k", "b_k", "piece", "start", "row", "column", "live_row", "live_column",
    "g", "ends", "starts", "tiles", "up_to", "group_of_rows", "own", "first", "a_tiles", "b_tiles",
    "pair", "a_even", "a_odd", "b_even", "b_odd", "twin", "acc_twin", "twin_tiles",
)  # fmt: skip
"""Names that the product's own statements use."""
LEAST_JOINED = 64
"""Shortest block along k in which halves are joined: Triton 3.6 computed wrong numbers of blocks of
16 on an H200, and right ones of 64 and more."""
WARP_GROUP_ROWS = 64
"""Rows of a tile from which Triton multiplies by wgmma, whose operands are in shared memory."""
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
        if step.groups:  # each group, and the rows of none, may have a tile that is not full
            self.tiles_m += step.groups.ends.shape[0]
        self.tiles_n = -(-self.n // self.block["n"])
        self.constants = {
            "BLOCK_M": self.block["m"], "BLOCK_N": self.block["n"], "BLOCK_K": self.block["k"],
            "TILES_M": self.tiles_m, "TILES_N": self.tiles_n, "GROUP": self.group,
        }  # fmt: skip
        is_split = self.form and knobs["split"] == "before"
        self.parts = Parts.of(step, self.form, self.block) if is_split else None
        self.letters = ("a", "b", *(("twin",) if step.twin else ()))
        no_rows: dict[str, Rows | None] = dict.fromkeys(self.letters)
        self.rows: Mapping[str, Rows | None] = self.parts.rows if self.parts else no_rows
        large = any(rows and rows.n_elements >= _LARGE for rows in self.rows.values())
        self.wide = needs_int64(step) or large
        self.descriptors = bool(knobs.get("descriptors")) and not self.wide
        found = {letter: matrix_of(step, letter) for letter in self.letters if not self.form}
        self.tiles = {x: matrix for x, matrix in found.items() if matrix and self.descriptors}
        self.pointers = self._pointers()
        sizes = {a.name: a.size for a in (*step.batch, *step.m, *step.n, *step.k)}
        self.tile = Tile({}, sizes)
        self.names = Names([*RESERVED, *_OWN, function_name(step), *self.pointers, *self.constants])
        self.lines = Lines(1)
        self.axis: dict[str, str] = {}
        self.numbers: set[str] = set()
        self.precision = knobs["precision"]
        self.made = {"a": step.a_made, "b": step.b_made, "twin": ()}
        self.halves = {letter: self._halves(made) for letter, made in self.made.items()}
        self.bodies = {x: Body(self.lines, self.names, interpreted=interpreted) for x in "ab"}
        self.along_k: set[str] = set()
        self.axis_of_pairs: dict[str, str] = {}

    def _halves(self, made: tuple[Op, ...]) -> tuple[tuple[Op, ...], ...]:
        """Return the ops of both halves of pairs along k, if a block has whole ones and no mask."""
        has_pairs = self.k % self.block["k"] == 0 and self._n_outer_axes_of_k() < len(self.step.k)
        is_joined = has_pairs and self.block["k"] >= LEAST_JOINED
        return halves(self.step, made) if is_joined else ()

    @property
    def grid(self) -> int:
        return size_of(self.step.batch) * self.tiles_m * self.tiles_n

    def _pointers(self) -> dict[str, str]:
        """Return the arguments that the launch passes, by parameter. An operand that is split
        beforehand is passed as its parts, and also whole, for results that are not finite."""
        pointers: dict[str, str] = {}
        if self.parts:
            pointers = self.parts.pointers(self.block, descriptors=self.descriptors)
        for letter, matrix in self.tiles.items():
            side = self.block["m" if letter == "a" else "n"]
            pointers[f"{letter}_tiles"] = matrix.text(side, self.block["k"])
        whole = (*self.step.reads, *self.step.writes)
        return pointers | {tile_name(tensor): tensor.name for tensor in whole}

    def text(self) -> str:
        self._place()
        starts = {
            "a": self._start("a", self.step.a, (*self.step.batch, *self.step.m)),
            "b": self._start("b", self.step.b, (*self.step.batch, *self.step.n)),
        }
        if self.step.twin:
            starts["twin"] = self._start("twin", self.step.twin, (*self.step.batch, *self.step.n))
        if self.step.groups and starts["b"]:
            self.lines.add(f"{starts['b']} += group_of_rows * {self.step.groups.step}")
        for word, _ in self.step.sums:
            self.lines.add(f"{word} = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)")
        self.lines.add(*(self.form.before() if self.form else ()))
        self.lines.add(f"for start in range(0, {self._end_of_k()}, BLOCK_K):")
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
        if self.step.groups:
            self._rows_of_group(self.step.groups)
        else:
            self._side("m", "m", "tile_m * BLOCK_M", self.block["m"])
        self._side("n", "n", "tile_n * BLOCK_N", self.block["n"])

    def _rows_of_group(self, groups: Groups) -> None:
        """Define the rows of the tile: those of one group. The rows after the last group's end are
        one group more, and a tile that no group needs has no rows."""
        n_groups, ends = groups.ends.shape[0], tile_name(groups.ends)
        self.lines.add(
            f"g = tl.arange(0, {power_of_two(n_groups + 1)})",
            f"ends = tl.load({ends} + g, mask=g < {n_groups}, other={self.m})",
            f"starts = tl.load({ends} + g - 1, mask=(g > 0) & (g <= {n_groups}), other={self.m})",
            "starts = tl.where(g == 0, 0, starts)",
            "tiles = (ends - starts + BLOCK_M - 1) // BLOCK_M",
            "up_to = tl.cumsum(tiles, 0)",
            "group_of_rows = tl.sum((up_to <= tile_m).to(tl.int32), 0)",
            "own = g == group_of_rows",
            "first = tl.sum(tl.where(own, starts - (up_to - tiles) * BLOCK_M, 0), 0)",
            "m = first + tile_m * BLOCK_M + tl.arange(0, BLOCK_M)",
            "live_m = m < tl.sum(tl.where(own, ends, 0), 0)",
        )
        if self.wide:
            self.lines.add("m = m.to(tl.int64)", "group_of_rows = group_of_rows.to(tl.int64)")
        self._name_axes("m", self.step.m, "live_m")

    def _end_of_k(self) -> str:
        """Return the end of the loop over k: rows of no group are zero."""
        if self.step.groups:
            return f"{self.k} if group_of_rows < {self.step.groups.ends.shape[0]} else 0"
        return end_of_k(self.step, self.k)

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
        """Define what of an operand stays the same along k: the part of its index, whose name is
        returned, or the values that it is computed from."""
        if self.made[letter]:
            steady = [op for op in self.made[letter] if not self._is_along_k(op)]
            self._emit_made(letter, [] if self.halves[letter] else steady)
            return ""
        if letter in self.tiles:
            return ""
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
        if not all(self.rows[letter] or letter in self.tiles for letter in self.letters):
            start = "start.to(tl.int64)" if self.wide else "start"
            self.lines.add(f"k = {start} + tl.arange(0, BLOCK_K)")
            mask = ""
            if self.k % self.block["k"]:
                mask = "live_k"
                self.lines.add(f"{mask} = k < {self.k}")
            self._name_axes_of_k(start, mask)
        elif self.form and not self.descriptors:
            self.lines.add("k = start + tl.arange(0, BLOCK_K)")
        self._operand("a", self.step.a, starts["a"], rows=self.step.m)
        for letter, (_, load) in zip(self.letters[1:], self.step.sums, strict=True):
            self._operand(letter, load, starts[letter], rows=self.step.n)
        if not self.form:
            precision = self._precision()
            for letter, (word, _) in zip(self.letters[1:], self.step.sums, strict=True):
                self.lines.add(f"{word} = tl.dot(a, {letter}, {word}{precision})")
            return
        if not self.parts:
            for letter in "ab":
                self.lines.add(*split_inside(letter, interpreted=self.interpreted))
        self.lines.add(*self.form.multiplied(interpreted=self.interpreted))

    def _name_axes_of_k(self, start: str, mask: str) -> None:
        """Name the axes of k. Outer ones that stay the same within every block are numbers, so that
        what depends on them alone, such as the scale of a group, is loaded once for a row."""
        inner = 0 if mask else self._n_outer_axes_of_k()
        size = size_of(self.step.k[inner:])
        if inner:
            for axis, text in decomposed(f"{start} // {size}", self.step.k[:inner], "//").items():
                self.axis[axis] = self.names.new(axis)
                self.numbers.add(axis)
                self.lines.add(f"{self.axis[axis]} = {text}")
            self.lines.add(f"k = {start} % {size} + tl.arange(0, BLOCK_K)")
        self._name_axes("k", self.step.k[inner:], mask)
        if any(self.halves.values()):
            known = dict(self.axis)
            first = f"{start} % {size}" if inner else start
            self.lines.add(f"pair = ({first}) // 2 + tl.arange(0, BLOCK_K // 2)")
            self._name_axes("pair", self.step.k[inner:-1])
            self.axis_of_pairs, self.axis = self.axis, known

    def _n_outer_axes_of_k(self) -> int:
        """Return how many axes of k stay the same within every block."""
        inner = len(self.step.k) - 1
        while inner > 0 and size_of(self.step.k[inner:]) % self.block["k"]:
            inner -= 1
        return max(0, inner)

    def _precision(self) -> str:
        """Convert the operands to one type that the dot accepts; return how it multiplies them.

        Tensor cores add up products of float8 with 14 bits: every block of k is added in float32.
        """
        dtypes = {*self.step.operand_dtypes}
        narrow = {"bfloat16", *(dtype for dtype in dtypes if dtype.startswith("float8"))}
        wanted = "float32"
        if dtypes <= narrow and not self.interpreted:
            wanted = "" if len(dtypes) == 1 and self.precision == "native" else "bfloat16"
        elif len(dtypes) == 1 and not self.interpreted:
            wanted = ""
        of_a, of_b = self.step.operand_dtypes
        for letter, dtype in zip(self.letters, (of_a, of_b, of_b), strict=False):
            if wanted and dtype != wanted:
                self.lines.add(f"{letter} = {letter}.to({TYPES[wanted]})")
        if not wanted and dtypes <= narrow - {"bfloat16"}:
            return f", max_num_imprecise_acc={min(128, self.block['k'])}"
        return ', input_precision="ieee"' if (wanted or dtypes) in ("float32", {"float32"}) else ""

    # --- operands that are computed --------------------------------------------------------

    def _is_along_k(self, op: Op) -> bool:
        """Return whether an op of an operand depends on the position along k."""
        if not self.along_k:
            self.along_k = {axis.name for axis in self.step.k}
            for each in (*self.step.a_made, *self.step.b_made):
                used = {name for index in indices(each) for name in index.axes}
                if self.along_k & (used | {*arguments(each)}) and not isinstance(each, Store):
                    self.along_k.add(each.name)
        return not isinstance(op, Store) and op.name in self.along_k

    def _emit_made(self, letter: str, ops: list[Op]) -> None:
        """Emit ops of an operand that is computed, on a tile of a (m, k) or of b (k, n)."""
        rows, row, column = self._directions(letter)
        tile = Tile(self._shaped(rows, row, column), self.tile.sizes)
        for axes, side in ((rows, row), (self.step.k, column)):
            masks = {axis.name: self.tile.masks.get(axis.name) for axis in axes}
            tile.masks |= {axis: mask + side for axis, mask in masks.items() if mask}
        for op in ops:
            self.bodies[letter].emit(op, tile)

    def _made(self, letter: str) -> None:
        """Emit what is computed of an operand at a block of k, and the operand itself."""
        if self.halves[letter]:
            self._joined(letter)
            return
        self._emit_made(letter, [op for op in self.made[letter] if self._is_along_k(op)])
        shape = "(BLOCK_M, BLOCK_K)" if letter == "a" else "(BLOCK_K, BLOCK_N)"
        text = self._value_of(letter, self.made[letter], shape)
        if mask := self.tile.masks.get(self.step.k[-1].name if self.step.k else ""):
            text = f"tl.where({mask}{self._directions(letter)[2]}, {text}, 0.0)"
        self.lines.add(f"{letter} = {text}")

    def _joined(self, letter: str) -> None:
        """Emit both halves of the pairs along k of an operand, and the operand from them."""
        side = f"BLOCK_{'M' if letter == 'a' else 'N'}"
        known, self.axis = self.axis, self.axis_of_pairs
        done: set[Op] = set()
        for name, ops in zip(("even", "odd"), self.halves[letter], strict=True):
            anew = changed(ops, done)  # the byte itself is loaded once
            self._emit_made(letter, anew)
            done |= {*anew}
            text = self._value_of(letter, ops, f"({side}, BLOCK_K // 2)")
            self.lines.add(f"{letter}_{name} = {text}")
        self.axis = known
        whole = f"tl.join({letter}_even, {letter}_odd).reshape({side}, BLOCK_K)"
        text = whole if letter == "a" else f"tl.trans({whole})"
        if self.block["m"] >= WARP_GROUP_ROWS and not self.interpreted:
            text += " + 0.0"  # Triton 3.6 finds no layout in shared memory for what was only joined
        self.lines.add(f"{letter} = {text}")

    def _value_of(self, letter: str, ops: Sequence[Op], shape: str) -> str:
        """Return the text of what ``ops`` compute of an operand, as a tile of this shape."""
        last = ops[-1]
        assert not isinstance(last, Store)
        value, dtype = self.bodies[letter].values[last.name], self.step.operand_dtypes
        text = self.bodies[letter].rounded(value, dtype["ab".index(letter)])
        sides = (self._directions(letter)[0], self.step.k)
        is_whole = all({axis.name for axis in side} & value.axes for side in sides)
        return text if is_whole else f"tl.broadcast_to({text}, {shape})"

    def _directions(self, letter: str) -> tuple[tuple[Axis, ...], str, str]:
        """Return the axes of an operand's rows, and how rows and k are shaped in its tile."""
        side = self.step.m if letter == "a" else self.step.n
        if letter == "a" or self.halves[letter]:
            return side, "[:, None]", "[None, :]"
        return side, "[None, :]", "[:, None]"

    def _along_k(self, load: Load) -> str:
        """Return the positions along several axes of k that are side by side in memory, as one
        expression: the compiler does not see that of quotients and remainders."""
        strides = strides_along(load, self.step.k)
        if len(self.step.k) < 2 or len(strides) != 1 or load.bounds:
            return ""
        stride = strides[0][1]
        start = "start.to(tl.int64)" if self.wide else "start"
        along = f"{start} + tl.arange(0, BLOCK_K)"
        return f"({along}) * {stride}" if stride != 1 else along

    def _first_of_tile(self, letter: str) -> str:
        """Return the first row of a's tile, or the first column of b's."""
        if letter == "a":
            return "first + tile_m * BLOCK_M" if self.step.groups else "tile_m * BLOCK_M"
        matrix = self.tiles[letter]
        return "tile_n * BLOCK_N" + (f" + group_of_rows * {matrix.group}" if matrix.group else "")

    # --- operands in memory ----------------------------------------------------------------

    def _operand(self, letter: str, load: Load, start: str, *, rows: tuple[Axis, ...]) -> None:
        """Load a tile of an operand; a is (m, k), b is (k, n)."""
        if self.made[letter]:
            self._made(letter)
            return
        if matrix := self.tiles.get(letter):
            self.lines.add(f"{letter} = {matrix.load(letter, self._first_of_tile(letter))}")
            return
        padded = self.rows[letter]
        if self.parts and padded:
            self._operand_in_rows(self.parts, letter, padded, start)
            return
        k_axes = {axis.name for axis in self.step.k}
        along = Affine(tuple(t for t in load.index.terms if t[0] in k_axes))
        row, column = ("[:, None]", "[None, :]") if letter == "a" else ("[None, :]", "[:, None]")
        text = self._along_k(load) or (affine(along, self.axis) if along.terms else "k * 0")
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
        along = {a.name: self.axis[a.name] for a in self.step.k if a.name in self.axis}
        return texts | {a: t if a in self.numbers else t + column for a, t in along.items()}

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
        body.values["acc_twin"] = Value("acc_twin", "float32", outer)
        for op in self.step.body:
            body.emit(op, tile)

"""A loop nest as one Triton kernel.

There are three shapes of tile. ``lanes``: every lane of a 1-D tile is a point of the outer axes and
loops over the inner axes (pointwise kernels, pooling windows). ``row``: a program has one row, and
its tile runs along the inner axes. ``rows``: a 2-D tile of several rows by a block of columns. Rows
that fit in a tile are loaded once and stay in registers; longer ones are read once for every level
of reductions. In a kernel with totals, a program goes through several rows, or tiles of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from kernelwright.compiler.codegen.gpu.axes import size_of, start_value, tensors_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name, wrapped
from kernelwright.compiler.codegen.gpu.passes import Pass, passes
from kernelwright.compiler.codegen.gpu.schedule import needs_int64
from kernelwright.compiler.codegen.gpu.stages import dtypes
from kernelwright.compiler.codegen.gpu.text import affine, decomposed, row_number
from kernelwright.compiler.codegen.gpu.totals import held_in, steady, totals
from kernelwright.compiler.codegen.rounding import opposed_products
from kernelwright.compiler.codegen.triton.body import Body, Tile, Value, tile_name
from kernelwright.compiler.codegen.triton.launch import NAME
from kernelwright.compiler.codegen.triton.ops import (
    TYPES,
    accumulate,
    held,
    literal,
    reduce,
    scan,
)
from kernelwright.compiler.ir.ir import Axis, Contraction, Kernel, Reduce, Scan, Total
from kernelwright.compiler.ir.ops import has_indices
from kernelwright.compiler.ir.sizes import NAMES, is_free, names_in, number

RESERVED = ("tl", "triton", "libdevice", "torch", "pid", "start", "range", "float", *NAMES)
_BEST = {"argmax": ("first_greatest", "max"), "argmin": ("first_least", "min")}
_START = {"sum": 0, "prod": 1, "any": False, "all": True}


def emit_kernel(kernel: Kernel, knobs: Mapping[str, Any], *, interpreted: bool) -> Launched:
    """Emit ``kernel`` in Triton under ``knobs``: shape, block, rows, warps."""
    writer = _Writer(kernel, knobs, interpreted=interpreted)
    text = writer.text()
    tensors = [tensor.name for tensor in writer.tensors]
    constants = writer.constants
    launch = launch_text(kernel, writer.grid, tensors, constants, knobs, quick=not interpreted)
    return Launched(text, launch)


def function_text(
    step: Kernel | Contraction, pointers: Iterable[str], constants: Mapping[str, int], lines: Lines
) -> str:
    """Return a jitted function of ``lines``, named as the step, with the step's origin as
    comments. Free sizes are parameters that it is not compiled anew for."""
    named = [
        name if is_free(value) else f"{name}: tl.constexpr" for name, value in constants.items()
    ]
    groups = [[*pointers, *names_in(step)], named]
    head = Lines()
    head.add("@triton.jit", *wrapped(f"def {function_name(step)}(", groups, "):").split("\n"))
    head.depth = 1
    head.add(*(f"# {line}" for line in step.origin))
    return head.text() + "\n" + lines.text() + "\n"


def launch_text(
    step: Kernel | Contraction, grid: int, tensors: Iterable[str],
    constants: Mapping[str, Any], knobs: Mapping[str, Any], *, quick: bool = False,
) -> str:  # fmt: skip
    """Return the statement that runs the step's function in ``grid`` programs, if ``quick`` past
    Triton's look at its arguments."""
    options = {f"num_{name}": knobs[name] for name in ("warps", "stages") if name in knobs}
    # A product is left alone: its float32 sums are fused multiply-adds, and would take twice as
    # long.
    if isinstance(step, Kernel) and opposed_products(step.body):
        options["enable_fp_fusion"] = False
    if has_indices(step):  # assertions that stop the kernel, without those on every sum
        options |= {"debug": True, "sanitize_overflow": False}
    named = [f"{name}={value}" for name, value in {**constants, **options}.items()]
    given = [*tensors, *names_in(step)]
    if quick:
        return wrapped(f"{NAME}(", [[function_name(step), str(grid)], given, named], ")")
    return wrapped(f"{function_name(step)}[({grid},)](", [given, named], ")")


def neutral(op: str, dtype: str) -> str:
    """Return the literal that a reduction starts from."""
    if op in _START:
        return literal(_START[op], held(dtype))
    return literal(start_value(op, held(dtype)), held(dtype))


class _Writer:
    """The writer of one kernel's text."""

    def __init__(self, kernel: Kernel, knobs: Mapping[str, Any], *, interpreted: bool) -> None:
        self.kernel = kernel
        self.tensors = tensors_of(kernel)
        self.shape = knobs["shape"]
        self.block = int(knobs["block"])
        self.n_rows = size_of(kernel.outer)
        self.n_columns = size_of(kernel.inner)
        self.rows = int(knobs.get("rows", 1)) if self.shape == "rows" else 1
        self.programs, self.ahead = int(knobs.get("programs", 0)), int(knobs.get("ahead", 1))
        n_lead = int(knobs.get("lead", 0))
        self.lead, self.lanes = kernel.outer[:n_lead], kernel.outer[n_lead:]
        self.constants: dict[str, int] = {}
        pointers = [tile_name(t) for t in self.tensors]
        self.names = Names(
            [*RESERVED, function_name(kernel), *pointers, "BLOCK", "ROWS", "N", "COLUMNS"]
        )
        self.lines = Lines(1)
        self.body = Body(self.lines, self.names, interpreted=interpreted)
        self.outer_tile = Tile({}, {a.name: a.size for a in (*kernel.outer, *kernel.inner)})
        self.wide = needs_int64(kernel)

    @property
    def grid(self) -> int:
        if totals(self.kernel):
            return self.programs
        if self.shape == "lanes":
            return size_of(self.lead) * -(-size_of(self.lanes) // self.block)
        return -(-self.n_rows // self.rows)

    @property
    def axis(self) -> int:
        """The tile's dimension that runs along the inner axes."""
        return 1 if self.shape == "rows" else 0

    @property
    def tile_shape(self) -> str:
        return "(ROWS, BLOCK)" if self.shape == "rows" else "(BLOCK,)"

    def text(self) -> str:
        if totals(self.kernel):
            self._sweep()
        elif self.shape == "lanes":
            self._lanes()
        elif self.n_columns <= self.block:
            number(self.n_columns)  # a longer row would not fit
            self._in_registers()
        else:
            self._over_blocks()
        pointers = map(tile_name, self.tensors)
        return function_text(self.kernel, pointers, self.constants, self.lines)

    # --- where a program works -------------------------------------------------------------

    def _program_id(self) -> str:
        return "tl.program_id(0).to(tl.int64)" if self.wide else "tl.program_id(0)"

    def _outer_axes(self, linear: str, mask: str, axes: tuple[Axis, ...] | None = None) -> None:
        """Define the outer axes, or some of them, as functions of the row number."""
        chosen = self.kernel.outer if axes is None else axes
        for axis, text in decomposed(linear, chosen, "//").items():
            name = linear if text == linear else self.names.new(axis)
            if text != linear:
                self.lines.add(f"{name} = {text}")
            self.outer_tile.axis_text[axis] = name
            if mask:
                self.outer_tile.masks[axis] = mask

    def _start_rows(self, place: str) -> None:
        """Define one row (a scalar), or a column of ROWS rows; ``place`` is its number among
        those."""
        row = self.names.new("row")
        if self.shape == "row":
            self.lines.add(f"{row} = {place}")
            self._outer_axes(row, "")
            return
        self.constants["ROWS"] = self.rows
        self.lines.add(f"{row} = ({place} * ROWS + tl.arange(0, ROWS))[:, None]")
        mask = ""
        if self.n_rows % self.rows:
            mask = self.names.new("row_live")
            self.lines.add(f"{mask} = {row} < {self.n_rows}")
        self._outer_axes(row, mask)

    def _columns(self, start: str, *, reverse: bool = False) -> tuple[Tile, str, str]:
        """Return the tile of a block of columns, the name of its column numbers, and of their
        mask."""
        column = self.names.new("column")
        numbers = "tl.arange(0, BLOCK)" + ("[None, :]" if self.shape == "rows" else "")
        text = f"{start} + {numbers}" if start else numbers
        if reverse:
            text = f"COLUMNS - 1 - ({text})"
            self.constants["COLUMNS"] = self.n_columns
        self.lines.add(f"{column} = {text}")
        tile = Tile(
            dict(self.outer_tile.axis_text), self.outer_tile.sizes, dict(self.outer_tile.masks)
        )
        mask = ""
        if self.n_columns % self.block:
            mask = self.names.new("live")
            self.constants["COLUMNS"] = self.n_columns
            self.lines.add(f"{mask} = {column} >= 0" if reverse else f"{mask} = {column} < COLUMNS")
        for axis, part in decomposed(column, self.kernel.inner, "//").items():
            name = column if part == column else self.names.new(axis)
            if part != column:
                self.lines.add(f"{name} = {part}")
            tile.axis_text[axis] = name
            if mask:
                tile.masks[axis] = mask
        return tile, column, mask

    # --- the three shapes ------------------------------------------------------------------

    def _lanes(self) -> None:
        """Emit one point of the outer axes per lane; a program has one point of the leading
        axes."""
        self.constants["BLOCK"] = self.block
        n_lanes, program = size_of(self.lanes), self._program_id()
        if self.lead:
            blocks, plane = number(-(-n_lanes // self.block)), self.names.new("plane")
            self.lines.add(f"{plane} = {program} // {blocks}")
            self._outer_axes(plane, "", self.lead)
            program = f"{program} % {blocks}"
        lane = self.names.new("i")
        self.lines.add(f"{lane} = {program} * BLOCK + tl.arange(0, BLOCK)")
        mask = ""
        if n_lanes % self.block:
            mask = self.names.new("live")
            self.lines.add(f"{mask} = {lane} < N")
            self.constants["N"] = n_lanes
        self._outer_axes(lane, mask, self.lanes)
        self._passes(self._walk_window)

    def _in_registers(self) -> None:
        """Emit every op once, in order: the whole row is one block."""
        self._start_rows(self._program_id())
        self.constants["BLOCK"] = self.block
        backwards = {op.reverse for op in self.kernel.body if isinstance(op, Scan)}
        tile, column, mask = self._columns("", reverse=backwards == {True})
        for op in self.kernel.body:
            match op:
                case Reduce():
                    self._reduce_tile(op, column, mask)
                case Scan():
                    self._scan_tile(op, mask, carry=None)
                case _:
                    self.body.emit(op, tile)

    def _sweep(self) -> None:
        """Emit a loop over a program's share of the rows, of which each is one block. Totals grow
        from row to row, and a program's are stored as its part of them."""
        self.constants["BLOCK"] = self.block
        tile, column, mask = self._columns("")
        once = steady(self.kernel)
        for op in once:
            self.body.emit(op, tile)
        names = {op: self.names.new(f"{op.value}_total") for op in totals(self.kernel)}
        for op, name in names.items():
            self.lines.add(f"{name} = tl.full({self.tile_shape}, 0.0, {TYPES[held_in(op)]})")
        place = self.names.new("place")
        end = (self.n_rows + self.rows - 1) // self.rows  # Triton's division rounds towards zero
        each = f"tl.program_id(0), {end}, {self.programs}"
        loop = f"tl.range({each}, num_stages={self.ahead})" if self.ahead > 1 else f"range({each})"
        self.lines.add(f"for {place} in {loop}:")
        self.lines.depth += 1
        self._start_rows(f"{place}.to(tl.int64)" if self.wide else place)
        tile.axis_text |= self.outer_tile.axis_text
        tile.masks |= self.outer_tile.masks
        live = next(iter(self.outer_tile.masks.values()), "")
        for op in self.kernel.body:
            match op:
                case Total():
                    value = self.body.argument(op.value, held_in(op))
                    value = f"tl.where({live}, {value}, 0.0)" if live else value
                    self.lines.add(f"{names[op]} += {value}")
                case Reduce():
                    self._reduce_tile(op, column, mask)
                case _ if op not in once:
                    self.body.emit(op, tile)
        self.lines.depth -= 1
        for op, name in names.items():
            whole = name
            if self.shape == "rows":
                whole = reduce("sum", name, 0, held_in(op), keep_dims=True)
            part = f"tl.program_id(0) * {self.n_columns} + {affine(op.index, tile.axis_text)}"
            guard = f", mask={mask}" if mask else ""
            self.lines.add(f"tl.store({tile_name(op.tensor)} + ({part}), {whole}{guard})")

    def _over_blocks(self) -> None:
        """Emit a loop over blocks of columns, once per level of reductions."""
        self._start_rows(self._program_id())
        self.constants.update(BLOCK=self.block, COLUMNS=self.n_columns)
        self._passes(self._walk_blocks)

    def _passes(self, walk: Callable[[Pass], None]) -> None:
        """Emit outer ops as soon as their values are known, between passes over the inner axes."""
        for part in passes(self.kernel):
            for op in part.outer:
                self.body.emit(op, self.outer_tile)
            if part.inner:
                walk(part)

    # --- one pass over the inner axes ------------------------------------------------------

    def _walk_blocks(self, part: Pass) -> None:
        ops = part.inner
        accumulators = {op.name: self._accumulators(op) for op in part.reduces}
        carries = {op.name: self._carry(op) for op in ops if isinstance(op, Scan)}
        backwards = any(op.reverse for op in ops if isinstance(op, Scan))
        outside, self.body = self.body, self.body.fork()
        self.names = self.body.names
        self.lines.add("for start in range(0, COLUMNS, BLOCK):")
        self.lines.depth += 1
        tile, column, mask = self._columns("start", reverse=backwards)
        for op in ops:
            match op:
                case Reduce():
                    self._accumulate(op, accumulators[op.name], column, mask)
                case Scan():
                    self._scan_tile(op, mask, carry=carries[op.name])
                case _:
                    self.body.emit(op, tile)
        self.lines.depth -= 1
        self.body, self.names = outside, outside.names
        for op in part.reduces:
            self._reduce(op, accumulators[op.name])

    def _walk_window(self, part: Pass) -> None:
        ops = part.inner
        accumulators = {op.name: self._accumulators(op) for op in part.reduces}
        carries = {op.name: self._carry(op) for op in ops if isinstance(op, Scan)}
        outside, self.body = self.body, self.body.fork()
        self.names = self.body.names
        tile = Tile(
            dict(self.outer_tile.axis_text), self.outer_tile.sizes, dict(self.outer_tile.masks)
        )
        depth = self.lines.depth
        unrolled = (
            not is_free(self.n_columns) and self.n_columns <= 32
        )  # unrolling longer loops only slows the compiler down
        for axis in self.kernel.inner:
            name = self.names.new(axis.name)
            loop = "tl.static_range" if unrolled else "range"
            self.lines.add(f"for {name} in {loop}({axis.size}):")
            self.lines.depth += 1
            tile.axis_text[axis.name] = name
        for op in ops:
            if isinstance(op, Reduce):
                position = row_number(self.kernel.inner, tile.axis_text)
                self._accumulate(op, accumulators[op.name], position, "")
            elif isinstance(op, Scan):
                self._scan_step(op, carries[op.name])
            else:
                self.body.emit(op, tile)
        self.lines.depth = depth
        self.body, self.names = outside, outside.names
        axes = frozenset(a.name for a in self.kernel.outer)
        for op in part.reduces:
            self.body.values[op.name] = Value(accumulators[op.name][-1], held(op.dtype), axes)

    # --- reductions and scans --------------------------------------------------------------

    def _dtype(self, op: Reduce | Scan) -> str:
        return held(dtypes(self.kernel)[op.arg])

    def _accumulators(self, op: Reduce) -> list[str]:
        """Define one accumulator per lane; for argmax and argmin, the best value and its
        position."""
        name = self.names.new(op.name + "_lanes")
        dtype = self._dtype(op) if op.op in _BEST else held(op.dtype)
        start = neutral(_BEST[op.op][1] if op.op in _BEST else op.op, dtype)
        self.lines.add(f"{name} = tl.full({self.tile_shape}, {start}, {TYPES[dtype]})")
        if op.op not in _BEST:
            return [name]
        index = self.names.new(op.name + "_at")
        self.lines.add(f"{index} = tl.full({self.tile_shape}, {self.n_columns}, tl.int64)")
        return [name, index]

    def _live_argument(self, op: Reduce | Scan, mask: str) -> str:
        """Return the argument over the whole tile, with the operator's neutral element past the
        end."""
        dtype = self._dtype(op) if op.op in _BEST else held(op.dtype)
        value = self.body.values[op.arg]
        text = self.body.argument(op.arg, dtype)
        inner = {axis.name for axis in self.kernel.inner}
        if self.shape != "lanes" and not value.axes & inner:
            text = (
                f"tl.full({self.tile_shape}, {text}, {TYPES[dtype]})"
                if value.is_literal
                else f"tl.broadcast_to({text}, {self.tile_shape})"
            )
        if not mask:
            return text
        start = neutral(_BEST[op.op][1] if op.op in _BEST else op.op, dtype)
        return f"tl.where({mask}, {text}, {start})"

    def _accumulate(self, op: Reduce, names: list[str], position: str, mask: str) -> None:
        value = self._live_argument(op, mask)
        if op.op in _BEST:
            combine = _BEST[op.op][0]
            best, at = names
            self.lines.add(f"{best}, {at} = {combine}({best}, {at}, {value}, {position})")
            return
        self.lines.add(f"{names[0]} = {accumulate(op.op, names[0], value, held(op.dtype))}")

    def _reduce_tile(self, op: Reduce, column: str, mask: str) -> None:
        value = self._live_argument(op, mask)
        if op.op not in _BEST:
            if mask:
                name = self.names.new(op.name + "_lanes")
                self.lines.add(f"{name} = {value}")
                value = name
            self._reduce(op, [value])
            return
        name = self.names.new(op.name + "_lanes")
        index = self.names.new(op.name + "_at")
        self.lines.add(f"{name} = {value}")
        self.lines.add(f"{index} = tl.broadcast_to({column}, {self.tile_shape}).to(tl.int64)")
        self._reduce(op, [name, index])

    def _reduce(self, op: Reduce, texts: list[str]) -> None:
        axes = [a.name for a in self.kernel.outer]
        keep = self.shape == "rows"
        if op.op not in _BEST:
            text = reduce(op.op, texts[0], self.axis, held(op.dtype), keep_dims=keep)
            self.body.define(op.name, text, op.dtype, axes)
            return
        lanes, at = texts
        best, hit = self.names.new(op.name + "_best"), self.names.new(op.name + "_hit")
        dtype = self._dtype(op)
        most = reduce(_BEST[op.op][1], lanes, self.axis, dtype, keep_dims=keep)
        found = f"({lanes} == {best})"
        if "float" in dtype:
            found += f" | ({lanes} != {lanes})"  # where there is a NaN, the best value is one
        self.lines.add(f"{best} = {most}", f"{hit} = tl.where({found}, {at}, {self.n_columns})")
        text = reduce("min", hit, self.axis, "int64", keep_dims=keep)
        self.body.define(op.name, text, op.dtype, axes)

    def _carry(self, scanned: Scan) -> str:
        name = self.names.new(scanned.name + "_carry")
        shape = {"rows": "(ROWS, 1)", "lanes": "(BLOCK,)"}.get(self.shape, "()")
        dtype = held(scanned.dtype)
        self.lines.add(f"{name} = tl.full({shape}, {neutral(scanned.op, dtype)}, {TYPES[dtype]})")
        return name

    def _scan_step(self, op: Scan, carry: str) -> None:
        """Emit one step of a scan in a loop, of one row for each lane."""
        dtype = held(op.dtype)
        value = self.body.argument(op.arg, dtype)
        if op.factor:
            text = f"{self.body.argument(op.factor, dtype)} * {carry} + {value}"
        else:
            text = accumulate(op.op, carry, value, dtype)
        self.lines.add(f"{carry} = {text}")
        axes = [a.name for a in (*self.kernel.outer, *self.kernel.inner)]
        self.body.define(op.name, carry, op.dtype, axes)

    def _decay_tile(self, op: Scan, mask: str, carry: str | None) -> None:
        """Emit a decaying sum of the block; past the end nothing is added."""
        added, kept = (self.names.new(f"{op.name}_{what}") for what in ("added", "kept"))
        self.lines.add(f"{added} = {self._live_argument(op, mask)}")
        factor = replace(op, op="prod", arg=op.factor)
        self.lines.add(f"{kept} = {self._live_argument(factor, mask)}")
        scanned = f"tl.associative_scan(({kept}, {added}), {self.axis}, decayed)"
        self.lines.add(f"{kept}, {added} = {scanned}")
        axes = [a.name for a in (*self.kernel.outer, *self.kernel.inner)]
        if not carry:
            self.body.define(op.name, added, op.dtype, axes)
            return
        self.lines.add(f"{added} = {kept} * {carry} + {added}")
        self.body.define(op.name, added, op.dtype, axes)
        last = "tl.arange(0, BLOCK)" + ("[None, :]" if self.shape == "rows" else "")
        text = f"tl.where({last} == BLOCK - 1, {added}, 0.0)"
        whole = reduce("sum", text, self.axis, held(op.dtype), keep_dims=self.shape == "rows")
        self.lines.add(f"{carry} = {whole}")

    def _scan_tile(self, op: Scan, mask: str, carry: str | None) -> None:
        """Emit a scan of the block; with a carry, it continues from all blocks before."""
        if op.factor:
            self._decay_tile(op, mask, carry)
            return
        dtype = held(op.dtype)
        value = self.names.new(op.name + "_lanes")
        self.lines.add(f"{value} = {self._live_argument(op, mask)}")
        text = scan(op.op, value, self.axis, dtype)
        if carry:
            text = accumulate(op.op, carry, text, dtype)
        axes = [a.name for a in (*self.kernel.outer, *self.kernel.inner)]
        self.body.define(op.name, text, op.dtype, axes)
        if carry:
            whole = reduce(op.op, value, self.axis, dtype, keep_dims=self.shape == "rows")
            self.lines.add(f"{carry} = {accumulate(op.op, carry, whole, dtype)}")

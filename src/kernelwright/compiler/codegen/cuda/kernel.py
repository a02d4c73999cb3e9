"""A loop nest as one CUDA kernel.

There are three layouts of threads. ``lanes``: each thread has a point of the outer axes, or a pack
of neighbours, and loops over the inner axes alone. ``row``: the threads of a block, or of a warp,
cover one row. ``column``: a block is a tile whose x runs over neighbouring rows and whose y runs
along the inner axes. Rows that fit are kept in registers between passes, if need be in those of
several blocks together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from kernelwright.compiler.codegen.cuda import groups
from kernelwright.compiler.codegen.cuda.body import (
    Body,
    Point,
    Value,
    at_lane,
    packed_tensors,
    packs,
)
from kernelwright.compiler.codegen.cuda.ops import CUDA, Language, held
from kernelwright.compiler.codegen.cuda.reserved import COMBINE, spelled
from kernelwright.compiler.codegen.cuda.schedule import MOST_KEPT_DOWN
from kernelwright.compiler.codegen.gpu.axes import cone, size_of, tensors_of
from kernelwright.compiler.codegen.gpu.launch import Launched
from kernelwright.compiler.codegen.gpu.names import Lines, Names, function_name
from kernelwright.compiler.codegen.gpu.passes import Pass, kept_values, passes
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS, needs_int64
from kernelwright.compiler.codegen.gpu.stages import dtypes
from kernelwright.compiler.codegen.gpu.text import affine, decomposed, row_number
from kernelwright.compiler.codegen.gpu.totals import held_in, totals
from kernelwright.compiler.codegen.rounding import opposed_products
from kernelwright.compiler.ir.ir import Axis, Kernel, Load, Op, Reduce, Scan, Store, Total
from kernelwright.compiler.ir.sizes import is_free, names_in, number, smaller

_MAX_BLOCKS = 32 * N_PROCESSORS
"""Number of blocks of a grid-stride loop: as many as can be resident, so that no block waits for a
processor."""


def emit_kernel(kernel: Kernel, knobs: Mapping[str, Any], language: Language = CUDA) -> Launched:
    """Emit ``kernel`` under ``knobs``: shape, threads, vector, rows, keep."""
    writer = _Writer(spelled(kernel, language.words), knobs, language)
    text = writer.text()
    written = {t.name for t in kernel.writes}
    tensors = [
        f"aligned({t.name})" if own.name in writer.packed and t.name not in written else t.name
        for t, own in zip(tensors_of(kernel), writer.tensors, strict=True)
    ]
    blocks, threads = writer.grid
    before = ""
    if writer.together > 1:
        before = groups.exchange_text(kernel, writer.together)
        tensors += [f"{kernel.name}_exchange"]
    given = [*tensors, *names_in(kernel), *(["together=True"] if writer.together > 1 else [])]
    return Launched(text, before + language.launch(writer.name, blocks, threads, given))


class _Writer:
    """The writer of one kernel's text."""

    def __init__(self, kernel: Kernel, knobs: Mapping[str, Any], language: Language) -> None:
        self.kernel, self.language = kernel, language
        self.name = function_name(kernel)
        self.tensors = tensors_of(kernel)
        self.shape = knobs["shape"]
        self.threads = int(knobs["threads"])
        self.vector = int(knobs.get("vector", 1))
        self.rows = int(knobs.get("rows", 1))
        self.n_rows = size_of(kernel.outer)
        self.n_columns = size_of(kernel.inner)
        self.reverse = any(isinstance(op, Scan) and op.reverse for op in kernel.body)
        self.keep = bool(knobs.get("keep", False)) and not self._has_long_columns
        self.together = int(knobs.get("together", 1))
        self.programs = int(knobs.get("programs", 0))
        self.ahead = bool(knobs.get("ahead", False))
        self.totals = {op: f"{op.value}_total_{n}" for n, op in enumerate(totals(kernel))}
        self.passes = passes(kernel, keep=self.keep)
        self.kept = kept_values(self.passes) if self.keep else set()
        self.dtypes = dtypes(kernel)
        self.index = language.types["int64" if needs_int64(kernel) else "int32"]
        self.lines = Lines(1)
        names = Names([*language.words, *(t.name for t in self.tensors)])
        self.body = Body(self.lines, names, opposed_products(kernel.body), language=language)
        self.point = Point({}, {a.name: a.size for a in (*kernel.outer, *kernel.inner)})
        along = kernel.outer if self.shape == "lanes" else kernel.inner
        if self.vector > 1 and along[-1].size % self.vector:
            number(along[-1].size)  # a pack would reach past the end
        self.packed = packed_tensors(kernel, along, self.vector)

    @property
    def _has_long_columns(self) -> bool:
        """Whether a thread would keep more of a column than its registers hold."""
        return self.shape == "column" and self.n_columns > MOST_KEPT_DOWN * self.rows

    @property
    def items(self) -> int:
        """The number of packs of a row that one thread keeps."""
        if self.shape == "column":
            return -(-self.n_columns // self.rows)
        return -(-self.n_columns // (self.threads * self.vector * self.together))

    @property
    def grid(self) -> tuple[int, tuple[int, int]]:
        """The number of blocks, and the threads of a block along x and y."""
        if self.shape == "lanes":
            wanted = -(-self.n_rows // (self.threads * self.vector))
            return smaller(wanted, _MAX_BLOCKS), (self.threads, 1)
        if self.shape == "column":
            return -(-self.n_rows // self.threads), (self.threads, self.rows)
        if self.together > 1:
            return groups.n_blocks(self.n_rows, self.together), (self.threads, 1)
        if self.totals:
            return self.programs // self.rows, (self.threads, self.rows)
        return -(-self.n_rows // self.rows), (self.threads, self.rows)

    def text(self) -> str:
        if self.shape == "lanes":
            self._lanes()
        else:
            self._start_row()
            for part in self.passes:
                self._outer(part)
                if part.inner:
                    self._walk_row(part)
            if self.together > 1 or self.totals:
                self._close()
            if self.totals:
                self._store_totals()
        x, y = self.grid[1]
        head = Lines()
        head.add(*(f"// {line}" for line in self.kernel.origin))
        written = {t.name for t in self.kernel.writes}
        tensors = [(t.name, t.dtype, t.name in written) for t in self.tensors]
        sizes = [(name, self.index) for name in names_in(self.kernel)]
        together = self.together > 1
        head.add(*self.language.head(self.name, tensors, sizes, x * y, together=together))
        return f"{head.text()}\n{self.lines.text()}\n}}\n"

    def _open(self, text: str) -> None:
        self.lines.add(text)
        self.lines.depth += 1

    def _close(self) -> None:
        self.lines.depth -= 1
        self.lines.add("}")

    def _axes(self, linear: str, axes: tuple[Axis, ...], point: Point) -> None:
        """Define the axes from their row-major number."""
        for axis, text in decomposed(linear, axes, "/").items():
            name = linear if text == linear else self.body.names.new(axis)
            if text != linear:
                self.lines.add(f"const {self.index} {name} = {text};")
            point.axis_text[axis] = name

    # --- lanes -----------------------------------------------------------------------------

    def _lanes(self) -> None:
        """Write a grid-stride loop over points of the outer axes, or over packs of them."""
        step = f" * {self.vector}" if self.vector > 1 else ""
        known = "const" if is_free(self.n_rows) else "constexpr"
        self.lines.add(f"{known} {self.index} POINTS = {self.n_rows}, THREADS = {self.threads};")
        block = "blockIdx.x" if self.index == "int" else "(long long)blockIdx.x"
        self._open(
            f"for ({self.index} place = ({block} * THREADS + threadIdx.x){step}; place < POINTS; "
            f"place += THREADS * ({self.index})gridDim.x{step}) {{"
        )
        self._axes("place", self.kernel.outer, self.point)
        if self.vector > 1 and self.kernel.inner:
            self._vector_of_windows()
        elif self.vector > 1:
            self._vector_of_points()
        else:
            for part in self.passes:
                self._outer(part)
                if part.inner:
                    self._walk_window(part)
        self._close()

    def _vector_of_points(self) -> None:
        """Write a pointwise body for a pack of neighbours."""
        along = self.kernel.outer[-1].name
        point = Point(self.point.axis_text, self.point.sizes, vector=self.vector, along=along)
        self._over_lanes(self.kernel.body, point)

    def _vector_of_windows(self) -> None:
        """Write loops over windows for a pack of neighbours. What is computed before them is
        written where it is used: the same for every window, it is computed once."""
        along = self.kernel.outer[-1].name
        point = Point(dict(self.point.axis_text), self.point.sizes, vector=self.vector, along=along)
        windows, after = self.passes
        before = tuple(op for op in windows.outer if not isinstance(op, Store))
        own = {}
        for op in windows.reduces:
            name = self.body.names.new(f"{op.name}_own")
            ctype, start = self.language.types[self._dtype(op)], self._start_of(op)
            start = ", ".join([start] * self.vector)
            self.lines.add(f"{ctype} {name}[{self.vector}] = {{{start}}};")
            own[op.name] = f"{name}[lane]"
        outside, self.body = self.body, self.body.fork()
        self._open_window(point)
        self._over_lanes((*before, *windows.inner), point, own=own)
        for _ in self.kernel.inner:
            self._close()
        self.body = outside
        for op in windows.reduces:
            self.body.values[op.name] = Value(own[op.name], held(op.dtype))
        self._over_lanes((*windows.outer, *after.outer), point)

    def _open_window(self, point: Point, *, reverse: bool = False) -> None:
        """Open loops over the inner axes."""
        for axis in self.kernel.inner:
            name = self.body.names.new(axis.name)
            point.axis_text[axis.name] = name
            if self.n_columns <= 64:
                self.lines.add("#pragma unroll")
            if reverse:
                self._open(f"for (int {name} = {axis.size - 1}; {name} >= 0; --{name}) {{")
            else:
                self._open(f"for (int {name} = 0; {name} < {axis.size}; ++{name}) {{")

    def _walk_window(self, part: Pass) -> None:
        """Write nested loops over the inner axes; scans run along them."""
        own = {op.name: self._accumulator(op) for op in part.reduces}
        scans = [op for op in part.inner if isinstance(op, Scan)]
        carries = {op.name: self._carry(op) for op in scans}
        outside, self.body = self.body, self.body.fork()
        point = Point(dict(self.point.axis_text), self.point.sizes)
        self._open_window(point, reverse=any(op.reverse for op in scans))
        at = row_number(self.kernel.inner, point.axis_text)
        for op in part.inner:
            if isinstance(op, Reduce):
                self._accumulate(op, own[op.name], at)
            elif isinstance(op, Scan):
                self._accumulate(op, carries[op.name], at)
                self.body.define(op.name, carries[op.name], op.dtype)
            else:
                self.body.emit(op, point)
        for _ in self.kernel.inner:
            self._close()
        self.body = outside
        for op in part.reduces:
            place = ".at" if op.op.startswith("arg") else ""
            self.body.values[op.name] = Value(own[op.name] + place, held(op.dtype))

    # --- rows and columns ------------------------------------------------------------------

    def _start_row(self) -> None:
        """Define the row that the thread works on; threads past the last row repeat it and store
        nothing."""
        block = "blockIdx.x" if self.index == "int" else f"({self.index})blockIdx.x"
        row, together = block, self.rows
        if self.shape == "column":
            self.lines.add(f"constexpr int LANES = {self.threads}, HEIGHT = {self.rows};")
            row, together = f"{block} * LANES + threadIdx.x", self.threads
        else:
            self.lines.add(f"constexpr int THREADS = {self.threads};")
            if self.rows > 1:
                row = f"{block} * {self.rows} + threadIdx.y"
        self.lines.add(f"constexpr int COLUMNS = {number(self.n_columns)};")
        self.live = ""
        if self.totals:
            self._start_sweep(row)
            return
        if self.together > 1:
            self.lines.add(*groups.head(number(self.n_rows), self.together, self.index))
            self.lines.depth += 1
            self._axes("row", self.kernel.outer, self.point)
            if self.ahead:
                self._fetch_next_row("GROUPS")
            return
        if self.n_rows % together:
            last = self.n_rows - 1
            self.lines.add(f"const {self.index} place = {row};")
            self.lines.add(f"const {self.index} row = place < {last} ? place : {last};")
            self.live = f"place <= {last}"
        else:
            self.lines.add(f"const {self.index} row = {row};")
        self._axes("row", self.kernel.outer, self.point)

    def _start_sweep(self, program: str) -> None:
        """Open the loop over a program's rows; a thread adds up totals of the columns it keeps."""
        self.lines.add(f"const {self.index} program = {program};")
        for op, name in self.totals.items():
            ctype, n = self.language.types[held_in(op)], self.items * self.vector
            self.lines.add(f"{ctype} {name}[{n}] = {{}};")
        self._open(
            f"for ({self.index} row = program; row < {self.n_rows}; row += {self.programs}) {{"
        )
        self._axes("row", self.kernel.outer, self.point)
        if self.ahead:
            self._fetch_next_row(str(self.programs))

    def _fetch_next_row(self, rows: str) -> None:
        """Ask for the row that comes so many ``rows`` later while this one is reduced: memory is
        idle meanwhile."""
        outside, self.body = self.body, self.body.fork()
        self._open(f"if (row + {rows} < {self.n_rows}) {{")
        point = Point({}, self.point.sizes, vector=self.vector, along=self.kernel.inner[-1].name)
        self.lines.add(f"const {self.index} next = row + {rows};")
        self._axes("next", self.kernel.outer, point)
        n_open = self._open_columns(False, point)
        self._axes("column", self.kernel.inner, point)
        self._fetch(point)
        for _ in range(n_open + 1):
            self._close()
        self.body = outside

    def _fetch(self, point: Point) -> None:
        """Ask for the numbers at the point that are other ones for every row and every column."""
        inner, outer = ({axis.name for axis in g} for g in (self.kernel.inner, self.kernel.outer))
        for op in self.kernel.body:
            if not isinstance(op, Load) or not (op.index.axes & inner and op.index.axes & outer):
                continue
            is_single = point.vector == 1 and not op.bounds and not op.gather
            if is_single or packs(op, point):
                self.lines.add(f"fetch({op.tensor.name} + {affine(op.index, point.axis_text)});")

    def _store_totals(self) -> None:
        """Store a program's part of every total."""
        point = Point({}, self.point.sizes, vector=self.vector, along=self.kernel.inner[-1].name)
        n_open = self._open_columns(False, point)
        self._axes("column", self.kernel.inner, point)
        for op, name in self.totals.items():
            place = f"program * {self.n_columns} + {affine(op.index, point.axis_text)}"
            for lane in range(self.vector):
                item = f"item * {self.vector} + {lane}" if self.vector > 1 else "item"
                at = f"{place} + {lane}" if lane else place
                self.lines.add(f"{op.tensor.name}[{at}] = {name}[{item}];")
        for _ in range(n_open):
            self._close()

    @property
    def _own_column(self) -> str:
        return "threadIdx.y" if self.shape == "column" else "threadIdx.x"

    def _outer(self, part: Pass) -> None:
        """Write the outer ops before a pass; only one thread of the row stores."""
        point = Point(self.point.axis_text, self.point.sizes)
        if self.shape != "lanes":
            own = "part == 0" if self.together > 1 else self.live
            point.guard = " && ".join(filter(None, (f"{self._own_column} == 0", own)))
        for op in part.outer:
            self.body.emit(op, point)

    def _walk_row(self, part: Pass) -> None:
        own = {op.name: self._accumulator(op) for op in part.reduces}
        carries = {op.name: self._carry(op) for op in part.inner if isinstance(op, Scan)}
        for op in part.inner:
            if not isinstance(op, Store) and op.name in self.kept:
                ctype, name = self.language.types[held(self.dtypes[op.name])], f"{op.name}_kept"
                self.lines.add(f"{ctype} {name}[{self.items * self.vector}];")
        outside, self.body = self.body, self.body.fork()
        point = Point(
            dict(self.point.axis_text), self.point.sizes,
            vector=self.vector, along=self.kernel.inner[-1].name, guard=self.live,
        )  # fmt: skip
        n_open = self._open_columns(bool(carries), point)
        self._axes("column", self.kernel.inner, point)
        loaded = self.body.load_packs(part.inner, point)
        scanned = self._scanned(part.inner, point, loaded, carries)
        self._over_lanes(part.inner, point, own=own, loaded=loaded, scanned=scanned)
        for _ in range(n_open):
            self._close()
        self.body = outside
        for op in part.reduces:
            self._combine(op, own[op.name])
        for op in part.inner:
            if not isinstance(op, Store) and op.name in self.kept:
                item = f"item * {self.vector} + lane" if self.vector > 1 else "item"
                text = f"{op.name}_kept[{item}]"
                self.body.values[op.name] = Value(text, held(self.dtypes[op.name]))

    def _open_columns(self, is_scan: bool, point: Point) -> int:
        """Open the loop over the thread's columns, and return how many braces it opened."""
        step = f" * {self.vector}" if self.vector > 1 else ""
        if is_scan:
            self._open(f"for (int start = 0; start < COLUMNS; start += THREADS{step}) {{")
            self.lines.add(f"const int position = start + threadIdx.x{step};")
            self.lines.add("const bool live = position < COLUMNS;")
            last = f"COLUMNS - {self.vector}"
            text, edge = (f"{last} - position", "0") if self.reverse else ("position", last)
            self.lines.add(f"const int column = live ? {text} : {edge};")
            if self.ahead:
                self._fetch_next_columns(f"THREADS{step}", point)
            point.guard = " && ".join(filter(None, ("live", self.live)))
            return 1
        stride = "HEIGHT" if self.shape == "column" else "THREADS"
        if self.keep:
            self.lines.add("#pragma unroll")
            self._open(f"for (int item = 0; item < {self.items}; ++item) {{")
            item = f"(part * {self.items} + item)" if self.together > 1 else "item"
            self.lines.add(f"const int column = ({item} * {stride} + {self._own_column}){step};")
            side_by_side = self.rows if self.shape == "column" else self.threads * self.together
            if self.items * side_by_side * self.vector == self.n_columns:
                return 1
            self._open("if (column < COLUMNS) {")
            return 2
        self._open(
            f"for (int column = {self._own_column}{step}; column < COLUMNS; "
            f"column += {stride}{step}) {{"
        )
        return 1

    def _fetch_next_columns(self, columns: str, point: Point) -> None:
        """Ask for the columns that are scanned next."""
        (axis,) = self.kernel.inner
        self._open(f"if (position + {columns} < COLUMNS) {{")
        self.lines.add(f"const int next = column {'-' if self.reverse else '+'} {columns};")
        self._fetch(replace(point, axis_text={**point.axis_text, axis.name: "next"}))
        self._close()

    def _over_lanes(
        self,
        ops: tuple[Op, ...],
        point: Point,
        *,
        own: Mapping[str, str] | None = None,
        loaded: Mapping[str, str] | None = None,
        scanned: Mapping[str, str] | None = None,
    ) -> None:
        """Write the ops for every lane of a pack, or for one point if the vector is 1.

        ``own``: the accumulator of every reduction; ``loaded``: the packs that are loaded already;
        ``scanned``: the text of every scan at a lane.
        """
        own, scanned = own or {}, scanned or {}
        is_vector = self.vector > 1
        loaded = self.body.load_packs(ops, point) if loaded is None else loaded
        filled = self.body.declare_packs(ops, point)
        if is_vector:
            self.lines.add("#pragma unroll")
            self._open(f"for (int lane = 0; lane < {self.vector}; ++lane) {{")
        lane = at_lane(point)
        for op in ops:
            if isinstance(op, Reduce):
                # threads past the end of a scanned row take part, and see its last element again
                live = "live" if scanned and self.n_columns % (self.threads * self.vector) else ""
                at = "column + lane" if is_vector else "column"
                self._accumulate(op, own[op.name], at, live=live)
            elif isinstance(op, Scan):
                self.body.define(op.name, scanned[op.name], op.dtype)
            elif isinstance(op, Total):
                item = f"item * {self.vector} + lane" if is_vector else "item"
                value = self.body.argument(op.value, held_in(op))
                self.lines.add(f"{self.totals[op]}[{item}] += {value};")
            elif isinstance(op, Load) and op.name in loaded:
                self.body.from_pack(op, loaded[op.name])
            elif isinstance(op, Store) and id(op) in filled:
                self.body.into_pack(op, filled[id(op)])
            else:
                self.body.emit(op, lane)
            if not isinstance(op, (Store, Reduce)) and op.name in self.kept:
                item = f"item * {self.vector} + lane" if is_vector else "item"
                value = self.body.argument(op.name, held(self.dtypes[op.name]))
                self.lines.add(f"{op.name}_kept[{item}] = {value};")
        if is_vector:
            self._close()
        if point.guard and filled:
            self._open(f"if ({point.guard}) {{")
            self.body.store_packs(ops, point, filled)
            self._close()
        else:
            self.body.store_packs(ops, point, filled)

    # --- reductions and scans --------------------------------------------------------------

    def _dtype(self, op: Reduce | Scan) -> str:
        """Return the dtype in which a reduction runs."""
        return held(self.dtypes[op.arg] if op.op.startswith("arg") else op.dtype)

    def _start_of(self, op: Reduce | Scan) -> str:
        return self.language.neutral(op.op, self._dtype(op))

    def _accumulator(self, op: Reduce) -> str:
        """Declare the thread's partial result of a reduction; argmax and argmin also keep a
        position."""
        name, start = self.body.names.new(f"{op.name}_own"), self._start_of(op)
        start = f"{{{start}, {self.n_columns}}}" if op.op.startswith("arg") else start
        self.lines.add(f"{self._kind(op)} {name} = {start};")
        return name

    def _kind(self, op: Reduce) -> str:
        """Return the type of a thread's part of a reduction."""
        ctype = self.language.types[self._dtype(op)]
        return f"Place<{ctype}>" if op.op.startswith("arg") else ctype

    def _carry(self, op: Scan) -> str:
        name = self.body.names.new(f"{op.name}_carry")
        self.lines.add(f"{self.language.types[held(op.dtype)]} {name} = {self._start_of(op)};")
        return name

    def _accumulate(self, op: Reduce | Scan, name: str, at: str, *, live: str = "") -> None:
        value = self.body.argument(op.arg, self._dtype(op))
        # argmax and argmin are unaffected by an element that is seen again
        if live and not op.op.startswith("arg"):
            value = f"({live} ? {value} : {self._start_of(op)})"
        match op.op:
            case "sum":
                self.lines.add(f"{name} += {value};")
            case "prod":
                self.lines.add(f"{name} *= {value};")
            case "argmax" | "argmin":
                self.lines.add(f"{name} = {COMBINE[op.op]}()({name}, {{{value}, {at}}});")
            case _:
                self.lines.add(f"{name} = {COMBINE[op.op]}()({name}, {value});")

    def _combine(self, op: Reduce, own: str) -> None:
        """Combine the threads' partial results into one value that all of them have."""
        needed, text = self.language.reduce(
            self.shape, self.threads, own, COMBINE[op.op], self._kind(op)
        )
        if needed:
            self.lines.add(needed)
        if self.together > 1:
            text = groups.group_text(self.kernel, op, text, self._start_of(op), self.together)
        place = ".at" if op.op.startswith("arg") else ""
        self.body.define(op.name, text + place, op.dtype)

    def _scanned(
        self,
        ops: tuple[Op, ...],
        point: Point,
        loaded: Mapping[str, str],
        carries: Mapping[str, str],
    ) -> dict[str, str]:
        """Write one block of every scan of ``ops``: the running values of the thread's own lanes,
        to which the values of all threads and blocks before are added. Return the text of each scan
        at a lane."""
        scanned: dict[str, str] = {}
        for op in ops:
            if isinstance(op, Scan):
                needed = cone(ops, [op.arg])
                before = tuple(o for o in ops if not isinstance(o, Store) and o.name in needed)
                lanes = self._scan_lanes(op, before, point, loaded, scanned)
                scanned[op.name] = self._after_others(op, lanes, carries[op.name])
        return scanned

    def _scan_lanes(
        self,
        op: Scan,
        before: tuple[Op, ...],
        point: Point,
        loaded: Mapping[str, str],
        scanned: Mapping[str, str],
    ) -> str:
        """Write the scan of the thread's own lanes, of which ``before`` computes the values; return
        the name of its results."""
        ctype, start = self.language.types[held(op.dtype)], self._start_of(op)
        own, lanes = (self.body.names.new(f"{op.name}_{word}") for word in ("own", "lanes"))
        self.lines.add(f"{ctype} {own} = {start}, {lanes}[{self.vector}];", "#pragma unroll")
        outside, self.body = self.body, self.body.fork()
        down = f"int lane = {self.vector - 1}; lane >= 0; --lane"
        up = f"int lane = 0; lane < {self.vector}; ++lane"
        self._open(f"for ({down if self.reverse else up}) {{")
        for other in before:
            if isinstance(other, Load) and other.name in loaded:
                self.body.from_pack(other, loaded[other.name])
            elif isinstance(other, Scan):
                self.body.define(other.name, scanned[other.name], other.dtype)
            else:
                self.body.emit(other, at_lane(point))
        self._accumulate(op, own, "column")
        self.lines.add(f"{lanes}[lane] = {own};")
        self._close()
        self.body = outside
        return lanes

    def _after_others(self, op: Scan, lanes: str, carry: str) -> str:
        """Write what a scan of all threads and blocks before comes to; return the text of the scan
        at a lane."""
        ctype, combine, start = (
            self.language.types[held(op.dtype)], COMBINE[op.op], self._start_of(op)
        )  # fmt: skip
        first = 0 if self.reverse else self.vector - 1
        total, before = (self.body.names.new(f"{op.name}_{w}") for w in ("total", "before"))
        own = f"live ? {lanes}[{first}] : {start}"
        self.lines.add(
            f"{ctype} {total};",
            f"const {ctype} {before} = {combine}()("
            f"{carry}, block_scan<THREADS>({own}, {start}, {total}, {combine}()));",
            f"{carry} = {combine}()({carry}, {total});",
        )
        return f"{combine}()({before}, {lanes}[{'lane' if self.vector > 1 else 0}])"

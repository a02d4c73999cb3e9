"""C++ for one loop nest: outer loops over threads, inner passes over blocks of vector lanes.

Three layouts, by where the vectorised axis is:
    flat     no inner axes: one vectorised loop
    rows     an inner axis: lanes are neighbours in a row and are combined after each pass
    columns  an outer axis: lanes are different outer elements, each with its own reduction
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from kernelwright.propose.rules.emit.cpp_nest import Nest, Pass, arguments, simplified
from kernelwright.propose.rules.emit.cpp_reduce import Accumulator, scan_dtype, scan_step, start
from kernelwright.propose.rules.emit.cpp_text import Text, Values
from kernelwright.propose.rules.emit.cpp_types import SIZE_BYTES, arithmetic
from kernelwright.propose.rules.ir import (
    Axis,
    Compute,
    Const,
    Contraction,
    Kernel,
    Op,
    Scan,
    Store,
    Tensor,
)

HUGE_BYTES = 4 << 20
"""Outputs from this size get huge pages: two of x86's are the least that can help when the
allocation is not aligned to them."""
STACK_BYTES = 32 << 10
"""Larger row buffers do not go on the stack, which threads have little of."""


@dataclass(frozen=True)
class Knobs:
    """The choices for one kernel; they stand in schedules under these names."""

    vector: str
    """The axis of the simplified nest that is vectorised; '' where there is none."""
    lanes: int = 64
    """Accumulators per reduction (rows, columns)."""
    keep_cost: float = 6
    """Values that cost at least so many instructions are kept in row buffers, not recomputed."""
    parallel: str = "outer"
    """'outer', 'none', or 'inner': a long reduction is cut into chunks, one per thread."""
    chunks: int = 1
    """Number of pieces of the cut axis under 'inner'."""
    block: int = 4096
    """Elements of the vectorised axis that one thread takes at a time (flat)."""
    fresh: tuple[str, ...] = ()
    """Stored tensors that are newly allocated, so that huge pages can be asked for."""


def lane_count(size: int, wanted: int) -> int:
    """Lanes per block: a divisor of ``size`` near ``wanted`` where there is one."""
    if size <= wanted * 3 // 2:
        return max(size, 1)
    for step in (16, 8):
        for lanes in range(wanted, wanted * 2 + 1, step):
            if size % lanes == 0:
                return lanes
        for lanes in range(wanted, wanted // 2 - 1, -step):
            if size % lanes == 0:
                return lanes
    return wanted


def kernel_text(kernel: Kernel, knobs: Knobs) -> str:
    """The C++ function for ``kernel``, named as the kernel."""
    return str(_Writer(kernel, knobs).function())


def parameters(kernel: Kernel | Contraction) -> tuple[list[Tensor], list[Tensor]]:
    """What the function takes: tensors that are only read, then those that are written."""
    written = {tensor.name for tensor in kernel.writes}
    return [t for t in kernel.reads if t.name not in written], list(kernel.writes)


class _Writer:
    """The text of one kernel."""

    def __init__(self, kernel: Kernel, knobs: Knobs) -> None:
        self.original, self.knobs = kernel, knobs
        self.kernel = simplified(kernel)
        self.nest = Nest(self.kernel)
        self.text = Text()
        self.reads, self.writes = parameters(self.kernel)
        axes = [*self.kernel.outer, *self.kernel.inner]
        self.v = Values([*self.reads, *self.writes], axes, self.kernel.body)
        self.is_rows = any(axis.name == knobs.vector for axis in self.kernel.inner)
        self.vector = next((axis for axis in axes if axis.name == knobs.vector), None)
        self.passes = self.nest.passes(knobs.keep_cost) if self.kernel.inner else []
        self.lanes = lane_count(self.vector.size, knobs.lanes) if self.vector else 1
        self.cut = self._cut_axis() if knobs.parallel == "inner" else None

    # ---- the function and its outer loops

    def function(self) -> Text:
        text, values = self.text, self.v
        for line in self.original.origin:
            text.line(f"// {line}")
        head = f'extern "C" void {self.original.name}({values.parameters(self.reads, self.writes)})'
        with text.block(head):
            for op in self.kernel.body:
                if isinstance(op, Const):
                    text.line(values.constant(op))
            for tensor in self.writes:
                size_bytes = tensor.n_elements * SIZE_BYTES[tensor.dtype]
                if tensor.name in self.knobs.fresh and size_bytes >= HUGE_BYTES:
                    text.line(f"huge_pages({values.pointer[tensor.name]}, {size_bytes});")
            if self.nest.n_outer:
                if not self.kernel.inner:
                    self._flat()
                elif self.is_rows:
                    self._rows()
                else:
                    self._columns()
        return text

    def _heads(self, without: Axis | None = None) -> list[str]:
        return [self._head(axis) for axis in self.kernel.outer if axis != without]

    def _head(self, axis: Axis, low: str = "0", high: str = "") -> str:
        name = self.v.axis[axis.name]
        return f"for (index {name} = {low}; {name} < {high or axis.size}; ++{name})"

    def _parallel(self, n_loops: int) -> None:
        if self.knobs.parallel == "outer" and n_loops:
            collapse = f" collapse({n_loops})" if n_loops > 1 else ""
            self.text.directive(f"omp parallel for{collapse} schedule(static)")

    def _flat(self) -> None:
        heads, vector, text = self._heads(self.vector), self.vector, self.text
        ops = [op for op in self.kernel.body if not isinstance(op, Const)]
        if vector is None:
            with text.block(""):
                self._statements(ops)
            return
        lane = self.v.axis[vector.name]
        low, high = "0", str(vector.size)
        if vector.size > self.knobs.block:
            low = self.v.names.fresh(f"{lane}_begin")
            high = self.v.names.fresh(f"{lane}_end")
            heads.append(
                f"for (index {low} = 0; {low} < {vector.size}; {low} += {self.knobs.block})"
            )
        self._parallel(len(heads))
        with text.loops(heads) if heads else text.block(""):
            if vector.size > self.knobs.block:
                reach = f"{low} + {self.knobs.block}"
                bound = f"{reach} < {vector.size} ? {reach} : {vector.size}"
                text.line(
                    f"const index {high} = {reach if not vector.size % self.knobs.block else bound};"
                )
            lone = [op for op in ops if not self._on_lanes(op)]
            self._statements([op for op in lone if not isinstance(op, Store)])
            text.directive("omp simd")
            with text.block(self._head(vector, low, high)):
                self._statements([op for op in ops if self._on_lanes(op)])
            self._statements([op for op in lone if isinstance(op, Store)])

    def _rows(self) -> None:
        heads = self._heads()
        self._parallel(len(heads))
        with self.text.loops(heads) if heads else self.text.block(""):
            self._row_body(self.lanes)

    def _columns(self) -> None:
        vector, n, text = self.vector, self.lanes, self.text
        assert vector is not None
        first = self.v.axis[vector.name] + "_begin"
        whole = vector.size // n * n
        heads = [
            *self._heads(vector),
            f"for (index {first} = 0; {first} < {vector.size}; {first} += {n})",
        ]
        self._parallel(len(heads))
        with text.loops(heads):
            if whole == vector.size:
                self._row_body(n)
                return
            with text.block(
                "const auto columns = [&](auto lanes) __attribute__((always_inline))", "};"
            ):
                text.line("constexpr int n = lanes.n;")
                self._row_body("n")
            text.line(f"if ({first} < {whole}) columns(lanes_t<{n}>());")
            text.line(f"else columns(lanes_t<{vector.size - whole}>());")

    # ---- one outer element (rows) or one block of them (columns)

    def _row_body(self, n: int | str) -> None:
        self.v.arrays.clear()
        buffers = {name: 0 for p in self.passes for name in p.kept}
        heap = [self._declare_buffer(name, n) for name in buffers]
        by_level = {p.level: p for p in self.passes}
        for level in range(self.nest.n_levels):
            self._row_values(level, n)
            if level in by_level:
                self._reciprocals(by_level[level])
                self._one_pass(by_level[level], n)
        for name in filter(None, heap):
            self.text.line(f"free({name});")

    def _row_values(self, level: int, n: int | str) -> None:
        ops = self.nest.row_ops(level)
        if self.is_rows:
            self._statements(ops)
            return
        self._statements([op for op in ops if not self._on_lanes(op)])
        ops = [op for op in ops if self._on_lanes(op)]
        if not ops:
            return
        mine = {op.name for op in ops if not isinstance(op, Store)}
        later = [op for op in self.kernel.body if op not in ops]
        shared = [name for name in mine if any(name in arguments(op) for op in later)]
        cells = {name: self.v.names.fresh(f"{name}_lane") for name in sorted(shared)}
        for name, cell in cells.items():
            self.text.line(f"alignas(64) {self.v.type(name)} {cell}[{n}];")
        with self._lane_loop(n):
            for op in ops:
                self.text.line(self.v.statement(op))
                if not isinstance(op, Store) and op.name in cells:
                    self.text.line(f"{cells[op.name]}[l] = {self.v.name[op.name]};")
        self.v.arrays |= {name: f"{cell}[l]" for name, cell in cells.items()}

    def _reciprocals(self, trip: Pass) -> None:
        """Name 1 / d before a pass that divides by d throughout: a division takes as long as eight
        multiplications, and the product differs from the quotient by one rounding."""
        if not self.is_rows:
            return
        for op in trip.values:
            if not isinstance(op, Compute) or op.op != "div" or op.dtype != "float32":
                continue
            divisor = op.args[1]
            if self.nest.is_inner(self.nest.ops[divisor]) or divisor in self.v.inverse:
                continue
            self.v.inverse[divisor] = self.v.names.fresh(f"{divisor}_inverse")
            divided = f"1.0f / (float){self.v.ref(divisor)}"
            self.text.line(f"const float {self.v.inverse[divisor]} = {divided};")

    def _one_pass(self, trip: Pass, n: int | str) -> None:
        self.text.line(f"// pass {trip.level + 1}: {self._purpose(trip)}")
        serial = -(-self.nest.n_inner // (self.lanes if self.is_rows else 1))
        accumulators = [Accumulator.of(op, self.v, serial) for op in trip.reduces]
        if self.cut:
            self._cut_pass(trip, accumulators, n)
            return
        for acc in accumulators:
            acc.declare(self.text, n)
        self._inner_loops(trip, accumulators, n)
        self._finish(accumulators)

    def _finish(self, accumulators: list[Accumulator]) -> None:
        for acc in accumulators:
            if self.is_rows:
                kind, name = self.v.type(acc.op.name), self.v.name[acc.op.name]
                self.text.line(f"const {kind} {name} = {acc.result(self.lanes)};")
            else:
                self.v.arrays[acc.op.name] = f"({acc.lane_value(self._lane_of(acc.op.name))})"

    def _purpose(self, trip: Pass) -> str:
        parts = [f"{op.op} of {op.arg}" for op in trip.reduces]
        parts += [f"scan of {op.arg}" for op in trip.values if isinstance(op, Scan)]
        parts += [f"keep {name}" for name in trip.kept]
        parts += [f"store {op.tensor.name}" for op in trip.values if isinstance(op, Store)]
        return ", ".join(parts)

    # ---- a pass cut into chunks for threads

    def _cut_axis(self) -> Axis:
        return max(self.kernel.inner, key=lambda axis: axis.size)

    def _cut_pass(self, trip: Pass, accumulators: list[Accumulator], n: int | str) -> None:
        text, chunks = self.text, self.knobs.chunks
        width = "" if self.is_rows else f"[{n}]"
        parts = {acc: f"{acc.lane}_part" for acc in accumulators}
        for acc, part in parts.items():
            text.line(f"{arithmetic(acc.dtype)} {part}[{chunks}]{width};")
        text.directive("omp parallel for schedule(static)")
        with text.block(f"for (int chunk = 0; chunk < {chunks}; ++chunk)"):
            for acc in accumulators:
                acc.declare(text, n)
            self._inner_loops(trip, accumulators, n)
            for acc, part in parts.items():
                if self.is_rows:
                    text.line(f"{part}[chunk] = {acc.fold(self.lanes)};")
                else:
                    text.line(f"for (int l = 0; l < {n}; ++l) {part}[chunk][l] = {acc.lane}[l];")
        for acc, part in parts.items():
            kind, name = self.v.type(acc.op.name), self.v.name[acc.op.name]
            if self.is_rows:
                total = f"{acc.lane}_total"
                text.line(f"{arithmetic(acc.dtype)} {total} = {start(acc.op.op, acc.dtype)};")
                text.line(
                    f"for (int chunk = 0; chunk < {chunks}; ++chunk) "
                    + acc.combine(total, f"{part}[chunk]")
                )
                text.line(f"const {kind} {name} = ({kind}){total};")
            else:
                acc.declare(text, n)
                with text.block(f"for (int chunk = 0; chunk < {chunks}; ++chunk)"):
                    text.line(
                        f"for (int l = 0; l < {n}; ++l) "
                        + acc.combine(f"{acc.lane}[l]", f"{part}[chunk][l]")
                    )
                self.v.arrays[acc.op.name] = f"({acc.lane_value(self._lane_of(acc.op.name))})"

    def _range(self, axis: Axis, step: int = 1) -> tuple[str, str]:
        """Where the loop over ``axis`` begins and ends, in the chunk if the axis is cut."""
        if axis != self.cut:
            return "0", str(axis.size // step * step)
        steps, chunks = axis.size // step, self.knobs.chunks
        times = f" * {step}" if step != 1 else ""
        return (
            f"(index)((int64_t)chunk * {steps} / {chunks}){times}",
            f"(index)((int64_t)(chunk + 1) * {steps} / {chunks}){times}",
        )

    # ---- the inner loops of a pass

    def _inner_loops(self, trip: Pass, accumulators: list[Accumulator], n: int | str) -> None:
        scans = [op for op in trip.values if isinstance(op, Scan)]
        carries = {op: self._declare_carry(op, n) for op in scans}
        others = [axis for axis in self.kernel.inner if not (self.is_rows and axis == self.vector)]
        heads = []
        for axis in others:
            name = self.v.axis[axis.name]
            low, high = self._range(axis)
            if trip.reverse:
                heads.append(f"for (index {name} = {axis.size - 1}; {name} >= 0; --{name})")
            else:
                heads.append(self._head(axis, low, high))
        with self.text.loops(heads):
            if self.is_rows:
                self._row_blocks(trip, lambda n: self._block(trip, accumulators, carries, n))
            else:
                self._block(trip, accumulators, carries, n)

    def _row_blocks(self, trip: Pass, body: Callable[[int | str], None]) -> None:
        vector, n, text = self.vector, self.lanes, self.text
        assert vector is not None
        if not trip.reduces and not any(isinstance(op, Scan) for op in trip.values):
            low, high = self._range(vector)
            text.directive("omp simd")
            with text.block(self._head(vector, low, high)):
                self._elements(trip)
            return
        first, whole = self._first(), vector.size // n * n
        low, high = self._range(vector, n)
        head = f"for (index {first} = {low}; {first} < {high}; {first} += {n})"
        if trip.reverse:
            head = f"for (index {first} = {whole - n}; {first} >= 0; {first} -= {n})"
        if whole == vector.size:
            with text.block(head):
                body(n)
            return
        step = f"const auto step = [&](index {first}, auto lanes) __attribute__((always_inline))"
        with text.block("{".rstrip("{")):
            with text.block(step, "};"):
                text.line("constexpr int n = lanes.n;")
                body("n")
            tail = f"step({whole}, lanes_t<{vector.size - whole}>());"
            if self.cut == vector:
                tail = f"if (chunk == {self.knobs.chunks - 1}) {tail}"
            if trip.reverse:
                text.line(tail)
            text.line(f"{head} step({first}, lanes_t<{n}>());")
            if not trip.reverse:
                text.line(tail)

    def _block(
        self,
        trip: Pass,
        accumulators: list[Accumulator],
        carries: Mapping[Scan, str],
        n: int | str,
    ) -> None:
        """One lane loop; with scans along the lanes: one for their arguments, the scans, one."""
        values, known = trip.values, dict(self.v.arrays)
        self.v.arrays |= {name: self._cell(name) for name in trip.read}
        if self.is_rows and carries:
            self._scan_lanes(trip, carries, n)
            values = tuple(op for op in values if not isinstance(op, Scan))
        with self._lane_loop(n):
            for op in values:
                if isinstance(op, Scan):
                    self._scan_column(op, carries[op])
                else:
                    self.text.line(self.v.statement(op))
            for name in trip.kept:
                self.text.line(f"{self._cell(name)} = {self.v.ref(name)};")
            for acc in accumulators:
                acc.add(self.text, self.v, self._place())
        self.v.arrays.clear()
        self.v.arrays |= known

    def _elements(self, trip: Pass) -> None:
        """The body of a pass that only stores and keeps: no lanes, one element."""
        known = dict(self.v.arrays)
        self.v.arrays |= {name: self._cell(name) for name in trip.read}
        self._statements(list(trip.values))
        for name in trip.kept:
            self.text.line(f"{self._cell(name)} = {self.v.ref(name)};")
        self.v.arrays.clear()
        self.v.arrays |= known

    def _declare_carry(self, op: Scan, n: int | str) -> str:
        dtype, carry = scan_dtype(op), self.v.names.fresh(f"{op.name}_carry")
        first = start(op.op, dtype)
        if self.is_rows:
            self.text.line(f"{arithmetic(dtype)} {carry} = {first};")
        else:
            self.text.line(f"alignas(64) {arithmetic(dtype)} {carry}[{n}];")
            self.text.line(f"for (int l = 0; l < {n}; ++l) {carry}[l] = {first};")
        return carry

    def _scan_column(self, op: Scan, carry: str) -> None:
        kind, name, cell = self.v.type(op.name), self.v.name[op.name], f"{carry}[l]"
        step = scan_step(op, cell, f"({arithmetic(scan_dtype(op))}){self.v.ref(op.arg)}")
        result = f"const {kind} {name} = ({kind}){cell};"
        for line in (result, step) if op.exclusive else (step, result):
            self.text.line(line)

    def _scan_lanes(self, trip: Pass, carries: Mapping[Scan, str], n: int | str) -> None:
        wanted: set[str] = set()
        for op in carries:
            wanted |= set(self.nest.sources(op.arg, trip.level, self.nest.level))
            wanted |= self._recomputed(op.arg, trip)
        cells = {op: self.v.names.fresh(f"{op.name}_lane") for op in carries}
        for op, cell in cells.items():
            self.text.line(f"alignas(64) {arithmetic(scan_dtype(op))} {cell}[{n}];")
        with self._lane_loop(n):
            self._statements([op for op in trip.values if getattr(op, "name", "") in wanted])
            for op, cell in cells.items():
                self.text.line(f"{cell}[l] = {self.v.ref(op.arg)};")
        for op, cell in cells.items():
            carry, lane = carries[op], f"{cell}[l]"
            head = (
                f"for (int l = {n} - 1; l >= 0; --l)"
                if op.reverse
                else f"for (int l = 0; l < {n}; ++l)"
            )
            with self.text.block(head):
                if op.exclusive:
                    kind = arithmetic(scan_dtype(op))
                    self.text.line(f"const {kind} taken = {lane};")
                    self.text.line(f"{lane} = {carry};")
                    self.text.line(scan_step(op, carry, "taken"))
                else:
                    self.text.line(scan_step(op, carry, lane))
                    self.text.line(f"{lane} = {carry};")
            self.v.arrays[op.name] = f"({self.v.type(op.name)}){lane}"

    def _recomputed(self, name: str, trip: Pass) -> set[str]:
        """The values of this pass that ``name`` is computed from."""
        here = {op.name for op in trip.values if not isinstance(op, Store)}
        found, wanted = set(), [name]
        while wanted:
            name = wanted.pop()
            if name in here and name not in found:
                found.add(name)
                wanted += arguments(self.nest.ops[name])
        return found

    # ---- lane loops, row buffers, places

    @contextmanager
    def _lane_loop(self, n: int | str) -> Iterator[None]:
        """The loop over lanes ``l``, with the vectorised axis's own variable inside."""
        assert self.vector is not None
        self.text.directive("omp simd")
        with self.text.block(f"for (int l = 0; l < {n}; ++l)"):
            name = self.v.axis[self.vector.name]
            self.text.line(f"const index {name} = {self._first()} + l;")
            yield

    def _first(self) -> str:
        assert self.vector is not None
        return self.v.axis[self.vector.name] + "_begin"

    def _statements(self, ops: list[Op]) -> None:
        for op in ops:
            self.text.line(self.v.statement(op))

    def _on_lanes(self, op: Op) -> bool:
        """Whether ``op`` differs between lanes."""
        if self.vector is None:
            return False
        if isinstance(op, Store):
            return self.vector.name in op.index.axes | self.nest.depends[op.value]
        return self.vector.name in self.nest.depends[op.name]

    def _lane_of(self, name: str) -> str:
        """Which lane holds a reduction's result: all hold the same one if it does not vary."""
        assert self.vector is not None
        return "l" if self.vector.name in self.nest.depends[name] else "0"

    def _place(self) -> str:
        """The number of the present element among the inner ones, in order."""
        text = ""
        for axis in self.kernel.inner:
            name = self.v.axis[axis.name]
            text = f"({text} * {axis.size} + {name})" if text else name
        return text.removeprefix("(").removesuffix(")") if text.startswith("(") else text

    def _cell(self, name: str) -> str:
        place = self._place()
        if not self.is_rows:
            place = f"({place}) * {self.lanes} + l"
        return f"{self.v.name[name]}_row[{place}]"

    def _declare_buffer(self, name: str, n: int | str) -> str | None:
        """Declare the row buffer of a value; its name if it must be freed after the row."""
        kind, buffer = self.v.type(name), f"{self.v.name[name]}_row"
        count = self.nest.n_inner * (1 if self.is_rows else self.lanes)
        size_bytes = (
            count
            * SIZE_BYTES[
                {"bfloat16": "float32", "float16": "float32"}.get(
                    self.v.dtype[name], self.v.dtype[name]
                )
            ]
        )
        if self.cut:
            self.text.line(
                f"{kind}* {buffer} = ({kind}*)aligned_alloc(64, {-(-size_bytes // 64) * 64});"
            )
            return buffer
        if size_bytes <= STACK_BYTES:
            self.text.line(f"alignas(64) {kind} {buffer}[{max(count, 1)}];")
            return None
        self.text.line(f"alignas(64) static thread_local {kind} {buffer}_memory[{count}];")
        self.text.line(f"{kind}* __restrict {buffer} = {buffer}_memory;")
        return None

"""The state shared while one loop nest is written as C++: analysis, names, text and knobs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from kernelwright.compiler.codegen.cpp.nest import Nest, Pass, simplified
from kernelwright.compiler.codegen.cpp.text import Text, Values
from kernelwright.compiler.ir.ir import Axis, Contraction, Kernel, Op, Store, Tensor, Total
from kernelwright.compiler.ir.sizes import NotFree, is_free, names_in


@dataclass(frozen=True)
class Knobs:
    """The choices for one kernel; schedules store them under these names."""

    vector: str
    """The vectorised axis of the simplified nest; '' if there is none."""
    lanes: int = 64
    """Accumulators per reduction (rows, columns)."""
    keep_cost: float = 6
    """Least cost, in instructions, of values that are kept in row buffers instead of being
    recomputed."""
    parallel: str = "outer"
    """'outer', 'none', or 'inner', which cuts a long reduction into chunks, one per thread."""
    chunks: int = 1
    """Number of chunks of the cut axis under 'inner', and of a kernel's rows if it has totals."""
    block: int = 4096
    """Elements of the vectorised axis that one thread processes at a time (flat layout)."""
    square: int = 0
    """Side of the square tiles in which transposed reads are staged (flat layout); 0 reads them
    directly."""
    prefetch: bool = True
    """Whether the second pass over a row prefetches the next row (rows layout)."""
    stream: bool = False
    """Whether results are written past the caches, a block of lanes at a time (flat and rows
    layouts)."""


def lane_count(size: int, wanted: int) -> int:
    """Return the lanes per block: if possible, a divisor of ``size`` near ``wanted``."""
    if is_free(size):
        return wanted
    if size <= wanted * 3 // 2:
        return max(size, 1)
    upward = [(step, range(wanted, wanted * 2 + 1, step)) for step in (16, 8)]
    downward = [(step, range(wanted, wanted // 2 - 1, -step)) for step in (16, 8)]
    for _, lanes in sorted(upward + downward, key=lambda pair: -pair[0]):
        for count in lanes:
            if size % count == 0:
                return count
    return wanted


def can_stream(op: Store, vector: str) -> bool:
    """Return whether a store's lanes are neighbours in memory, of the one type that streams."""
    return (
        not isinstance(op, Total)
        and op.tensor.dtype == "float32"
        and op.index.coefficient(vector) == 1
    )


def parameters(step: Kernel | Contraction) -> tuple[list[Tensor], list[Tensor]]:
    """Return the function's parameters: tensors that are only read, then tensors that are
    written."""
    written = {tensor.name for tensor in step.writes}
    return [t for t in step.reads if t.name not in written], list(step.writes)


class Loop:
    """The state that all writers of one kernel's text share.

    ``is_rows`` means that lanes are neighbours in a row of inner elements; otherwise they are
    different outer elements. ``cut`` is the inner axis that is divided among threads, if any.
    """

    def __init__(self, kernel: Kernel, knobs: Knobs) -> None:
        self.knobs = knobs
        self.kernel = simplified(kernel)
        self.nest = Nest(self.kernel)
        self.text = Text()
        self.reads, self.writes = parameters(self.kernel)
        self.totals = [op for op in self.kernel.body if isinstance(op, Total)]
        axes = [*self.kernel.outer, *self.kernel.inner]
        self.v = Values([*self.reads, *self.writes], axes, self.kernel.body)
        self.sizes = names_in(kernel)
        self.is_rows = any(axis.name == knobs.vector for axis in self.kernel.inner)
        self.vector = next((axis for axis in axes if axis.name == knobs.vector), None)
        if knobs.vector and self.vector is None:
            raise NotFree(f"{knobs.vector} is joined with another axis for some sizes only")
        self.lanes = lane_count(self.vector.size, knobs.lanes) if self.vector else 1
        self.cut: Axis | None = None
        if knobs.parallel == "inner" and self.kernel.inner:
            self.cut = max(self.kernel.inner, key=lambda axis: axis.size)

    @property
    def first(self) -> str:
        """Return the variable that holds the first lane's position on the vectorised axis."""
        return self.v.axis[self.knobs.vector] + "_begin"

    def head(self, axis: Axis, low: str = "0", high: str = "") -> str:
        """Return the head of the loop over ``axis``."""
        name = self.v.axis[axis.name]
        return f"for (index {name} = {low}; {name} < {high or axis.size}; ++{name})"

    def outer_heads(self, *without: Axis | None) -> list[str]:
        return [self.head(axis) for axis in self.kernel.outer if axis not in without]

    def parallel(self, n_loops: int) -> None:
        """Write the OpenMP directive before ``n_loops`` nested loops over outer axes."""
        if self.knobs.parallel == "outer" and n_loops:
            collapse = f" collapse({n_loops})" if n_loops > 1 else ""
            self.text.directive(f"omp parallel for{collapse} schedule(static)")

    def statements(self, ops: list[Op]) -> None:
        for op in ops:
            self.text.line(self.v.statement(op))

    def on_lanes(self, op: Op) -> bool:
        """Return whether ``op`` differs between lanes."""
        if isinstance(op, Store):
            return self.knobs.vector in op.index.axes | self.nest.depends[op.value]
        return self.knobs.vector in self.nest.depends[op.name]

    @contextmanager
    def lane_loop(self, n: int | str) -> Iterator[None]:
        """Write the loop over lanes ``l``; the vectorised axis's own variable is defined inside
        it."""
        self.text.directive("omp simd")
        with self.text.block(f"for (int l = 0; l < {n}; ++l)"):
            self.text.line(f"const index {self.v.axis[self.knobs.vector]} = {self.first} + l;")
            yield

    @contextmanager
    def streaming(self, ops: list[Op], n: int | str, first: str) -> Iterator[dict[Op, str]]:
        """Within this context, a block of ``n`` lanes is written that begins at ``first``.

        Yields the array that a store fills instead of its tensor, for every store that streams; at
        the end the arrays are copied.
        """
        found = [op for op in ops if isinstance(op, Store) and self.knobs.stream]
        found = [op for op in found if can_stream(op, self.knobs.vector)]
        blocks: dict[Op, str] = {}
        for op in found:
            blocks[op] = self.v.names.fresh(f"{self.v.pointer[op.tensor.name]}_block")
            self.text.line(f"alignas(64) float {blocks[op]}[{n}];")
        yield blocks
        for op in found:
            place = self.v.index(op.index, {self.knobs.vector: first})
            pointer = self.v.pointer[op.tensor.name]
            self.text.line(f"math::stream<{n}>({pointer} + {place}, {blocks[op]});")

    def lane_statement(self, op: Op, blocks: dict[Op, str]) -> str:
        """Return the statement for lane ``l``; a store that streams fills its block."""
        if isinstance(op, Store) and op in blocks:
            return f"{blocks[op]}[l] = {self.v.stored(op)};"
        return self.v.statement(op)

    @contextmanager
    def reading(self, trip: Pass) -> Iterator[None]:
        """Within this context, values that ``trip`` reads from row buffers are referred to by their
        cells."""
        known = dict(self.v.arrays)
        self.v.arrays |= {name: self.cell(name) for name in trip.read}
        yield
        self.v.arrays = known

    def keep(self, trip: Pass) -> None:
        """Write the values that ``trip`` keeps to their row buffers."""
        for name in trip.kept:
            self.text.line(f"{self.cell(name)} = {self.v.ref(name)};")

    def place(self) -> str:
        """Return the row-major number of the current element among the inner ones."""
        text = ""
        for axis in self.kernel.inner:
            name = self.v.axis[axis.name]
            outer = f"({text})" if "+" in text else text
            text = f"{outer} * {axis.size} + {name}" if text else name
        return text

    def cell(self, name: str) -> str:
        """Return the cell of the row buffer that holds a value of the current element."""
        place = self.place() if self.is_rows else f"({self.place()}) * {self.lanes} + l"
        return f"{self.v.name[name]}_row[{place}]"

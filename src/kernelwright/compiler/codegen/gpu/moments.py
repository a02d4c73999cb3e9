"""The statistics of a convolution's channels, begun by the convolution itself.

A batch norm in training needs the mean and variance of every channel of a convolution's result.
Each program of the convolution adds up its own rows while they are in registers, and a small kernel
puts the parts together: the result is not read once more from memory.

Source: T. F. Chan, G. H. Golub and R. J. LeVeque, 1979, as in ``variance``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from kernelwright.compiler.codegen.gpu.axes import cone, size_of
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS, power_of_two
from kernelwright.compiler.codegen.gpu.stages import levels, row_major
from kernelwright.compiler.codegen.gpu.variance import Spread, spreads
from kernelwright.compiler.ir.ir import (
    Affine,
    Axis,
    Compute,
    Const,
    Contraction,
    Iota,
    Kernel,
    Load,
    Op,
    PartTotal,
    Program,
    Reduce,
    Step,
    Store,
    Tensor,
    contiguous,
)

MOST_ROWS, FEWEST_ROWS = 128, 16
"""Most and fewest rows of a part, which one program of the convolution computes."""
_PART = "part"
_TYPE = "float32"


def with_moments(program: Program) -> Program:
    """Return ``program`` with the statistics of convolutions begun by the convolutions."""
    steps: list[Step] = list(program.steps)
    makers = {
        tensor.name: n
        for n, step in enumerate(steps)
        if isinstance(step, Contraction)
        for tensor in step.writes
    }
    instead: dict[int, list[Step]] = {}
    for n, step in enumerate(steps) if makers else ():
        found = _statistics(step) if isinstance(step, Kernel) else None
        at = makers.get(found.image.name) if found else None
        if found is None or at is None:
            continue
        convolution = steps[at]
        assert isinstance(convolution, Contraction)
        value = _value_of(convolution, found)
        if value is not None:
            parts = _Parts(found, convolution)
            steps[at] = parts.begun(value)
            instead[n] = parts.finished()
    merged = [one for n, step in enumerate(steps) for one in instead.get(n, [step])]
    return replace(program, steps=tuple(merged))


@dataclass(frozen=True)
class _Statistics:
    """A kernel that reduces an image to the mean and variance of every channel, and may apply
    them."""

    kernel: Kernel
    image: Tensor
    step: int
    """Distance in memory from a channel to the next one."""
    spread: Spread
    shift: str
    """The value that is subtracted from a channel before it is added up."""


def _statistics(kernel: Kernel) -> _Statistics | None:
    level = levels(kernel)
    first = [op for op in kernel.body if isinstance(op, Reduce) and level[op.name] == 1]
    if len(kernel.outer) != 1 or len(first) != 1:
        return None
    found = spreads(kernel, level)
    if len(found) != 1 or first != [found[0].first]:
        return None
    by_name = {op.name: op for op in kernel.body if not isinstance(op, Store)}
    apart = by_name[found[0].first.arg]
    if not isinstance(apart, Compute) or apart.op != "sub":
        return None
    load = by_name[apart.args[0]]
    scopes, (channel,) = kernel.scopes(), kernel.outer
    if not isinstance(load, Load) or load.bounds or load.gather or load.tensor.dtype != _TYPE:
        return None
    sizes = {axis.name: axis.size for axis in (channel, *kernel.inner)}
    if not _reads_all(load, sizes) or scopes[apart.args[1]] != "outer":
        return None
    step = load.index.coefficient(channel.name)
    return _Statistics(kernel, load.tensor, step, found[0], apart.args[1])


def _reads_all(load: Load, sizes: Mapping[str, int]) -> bool:
    """Return whether a load reads each element of its tensor once, which may be part of another."""
    if load.index.axes != {name for name, size in sizes.items() if size > 1}:
        return False
    reach = 1
    for step, size in sorted((step, sizes[axis]) for axis, step in load.index.terms):
        if step < reach:
            return False
        reach += step * (size - 1)
    return not load.index.offset and math.prod(sizes.values()) == load.tensor.n_elements


def _value_of(convolution: Contraction, found: _Statistics) -> str | None:
    """Return the name of the value that a convolution stores as the image; None if the image's
    channels are not its columns."""
    is_plain = convolution.tf32 and convolution.is_plain and not convolution.stretches
    if not is_plain or size_of(convolution.batch) > 1 or len(convolution.n) != 1:
        return None
    if min(size_of(convolution.n), size_of(convolution.m)) < FEWEST_ROWS:
        return None
    if convolution.part_totals:
        return None
    stores = [op for op in convolution.body if isinstance(op, Store) and op.tensor == found.image]
    if len(stores) != 1:
        return None
    (store,), (column,), (channel,) = stores, convolution.n, found.kernel.outer
    is_same = store.index.coefficient(column.name) == found.step and column.size == channel.size
    n_points = column.size * size_of(convolution.m)
    return store.value if is_same and n_points == found.image.n_elements else None


class _Parts:
    """The parts of a convolution's rows, and what is known of each of them."""

    def __init__(self, found: _Statistics, convolution: Contraction) -> None:
        self.found, self.convolution = found, convolution
        n_rows, (column,) = size_of(convolution.m), convolution.n
        fewest = max(FEWEST_ROWS, power_of_two(n_rows // N_PROCESSORS))
        self.rows, self.n_rows = min(MOST_ROWS, fewest), n_rows
        self.n_parts, self.n_columns = -(-n_rows // self.rows), column.size
        shape, name = (self.n_parts, self.n_columns), found.kernel.name
        self.sums, self.spreads = (
            contiguous(f"{name}_{word}_of_parts", shape, _TYPE) for word in ("sums", "spreads")
        )

    def begun(self, value: str) -> Contraction:
        """Return the convolution with the sums of its parts."""
        at = Affine.of({self.convolution.n[0].name: 1})
        totals = (
            PartTotal(self.sums, at, value, "sum", self.rows),
            PartTotal(self.spreads, at, value, "spread", self.rows),
        )
        return replace(self.convolution, body=(*self.convolution.body, *totals))

    def finished(self) -> list[Step]:
        """Return the kernels in place of the one that read the image: one that puts the parts
        together, and one that applies the statistics if that one did."""
        kernel, spread = self.found.kernel, self.found.spread
        scopes, inner = kernel.scopes(), {axis.name for axis in kernel.inner}
        stores = [op for op in kernel.body if isinstance(op, Store)]
        late = [op for op in stores if scopes[op.value] == "inner" or op.index.axes & inner]
        early = [op for op in stores if op not in late]
        known: list[Load] = []
        for op in (spread.first, spread.total) if late else ():
            tensor = next((s.tensor for s in early if s.value == op.name), None)
            if tensor is None:
                tensor = contiguous(f"{kernel.name}_{op.name}", (self.n_columns,), _TYPE)
                early.append(Store(tensor, row_major(kernel.outer), op.name))
            known.append(Load(op.name, tensor, row_major(kernel.outer)))
        whole = replace(
            kernel, inner=(Axis(_PART, self.n_parts),), body=(*self._together(early), *early)
        )
        if not late:
            return [whole]
        done = frozenset(op.name for op in known)
        needed = cone(kernel.body, [op.value for op in late], stop=done)
        rest = [op for op in kernel.body if not isinstance(op, Store) and op.name in needed]
        axes = (*kernel.outer, *kernel.inner)
        body = (*known, *rest, *late)
        return [whole, Kernel(f"{kernel.name}_apply", axes, (), body, kernel.origin)]

    def _together(self, stores: list[Store]) -> list[Op]:
        """Return the ops that give a channel's sums, and all that ``stores`` need of them."""
        kernel, spread, shift = self.found.kernel, self.found.spread, self.found.shift
        (channel,) = kernel.outer
        at = Affine.of({_PART: self.n_columns, channel.name: 1})
        last = self.n_rows - (self.n_parts - 1) * self.rows
        body = kernel.body
        before = cone(body, [shift])
        mean = cone(body, [spread.mean], stop=frozenset({spread.first.name})) - before
        done = frozenset({spread.first.name, spread.total.name, *before, *mean})
        after = cone(body, [op.value for op in stores], stop=done) - done

        def of(names: set[str]) -> list[Op]:
            return [op for op in body if not isinstance(op, Store) and op.name in names]

        return [
            *of(before),
            Load("part_sum", self.sums, at),
            Iota("part_number", Affine.of({_PART: 1})),
            Const("last_part", self.n_parts - 1, "int64"),
            Compute("is_before", "lt", ("part_number", "last_part"), "bool"),
            Const("rows_of_part", float(self.rows), _TYPE),
            Const("rows_of_last", float(last), _TYPE),
            Compute("part_rows", "where", ("is_before", "rows_of_part", "rows_of_last"), _TYPE),
            Compute("part_shift", "mul", (shift, "part_rows"), _TYPE),
            Compute("part_apart", "sub", ("part_sum", "part_shift"), _TYPE),
            replace(spread.first, arg="part_apart"),
            *of(mean),
            Load("part_spread", self.spreads, at),
            Compute("part_mean", "div", ("part_apart", "part_rows"), _TYPE),
            Compute("part_distance", "sub", ("part_mean", spread.mean), _TYPE),
            Compute("part_square", "mul", ("part_distance", "part_distance"), _TYPE),
            Compute("part_squares", "mul", ("part_square", "part_rows"), _TYPE),
            Compute("part_whole", "add", ("part_spread", "part_squares"), _TYPE),
            replace(spread.total, arg="part_whole"),
            *of(after),
        ]

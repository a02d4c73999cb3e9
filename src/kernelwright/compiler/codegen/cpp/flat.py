"""C++ for pointwise kernels: one vectorised loop, with transposed reads staged in square tiles."""

from __future__ import annotations

from dataclasses import dataclass

from kernelwright.compiler.codegen.cpp.loop import Loop
from kernelwright.compiler.codegen.cpp.nest import Nest
from kernelwright.compiler.ir.ir import Axis, Const, Load, Op, Store
from kernelwright.compiler.ir.sizes import is_free

STREAM_LANES = 64
"""Elements of a block that is written past the caches: four cache lines."""


@dataclass(frozen=True)
class Crossing:
    """Loads that are contiguous along an axis other than the vectorised one."""

    axis: Axis
    loads: tuple[Load, ...]


def crossing(nest: Nest, vector: str) -> Crossing | None:
    """Return the loads that would be strided across lanes, if all are contiguous along one other
    axis."""
    kernel = nest.kernel
    if kernel.inner:
        return None
    for axis in kernel.outer:
        found = tuple(
            op
            for op in kernel.body
            if isinstance(op, Load)
            and not op.bounds
            and not op.gather
            and op.index.coefficient(axis.name) == 1
            and op.index.coefficient(vector) > 1
        )
        if found and axis.name != vector:
            return Crossing(axis, found)
    return None


def write_flat(loop: Loop) -> None:
    """Write the loops of a kernel without inner axes."""
    ops = [op for op in loop.kernel.body if not isinstance(op, Const)]
    if loop.vector is None:
        loop.statements(ops)
        return
    crossed = crossing(loop.nest, loop.vector.name) if loop.knobs.square else None
    if crossed:
        _write_squares(loop, crossed)
        return
    vector, text, heads = loop.vector, loop.text, loop.outer_heads(loop.vector)
    low, high = "0", str(vector.size)
    is_blocked = is_free(vector.size) or vector.size > loop.knobs.block
    if is_blocked:
        low, high = f"{loop.first}", loop.v.names.fresh(f"{loop.v.axis[vector.name]}_end")
        heads.append(_block_head(low, vector.size, loop.knobs.block))
    loop.parallel(len(heads))
    with text.loops(heads) if heads else text.block(""):
        if is_blocked:
            text.line(_block_end(low, high, vector.size, loop.knobs.block))
        alone = [op for op in ops if not loop.on_lanes(op)]
        loop.statements([op for op in alone if not isinstance(op, Store)])
        each = [op for op in ops if loop.on_lanes(op)]
        rest = _write_streams(loop, each, low, high) if loop.knobs.stream else low
        text.directive("omp simd")
        with text.block(loop.head(vector, rest, high)):
            loop.statements(each)
        loop.statements([op for op in alone if isinstance(op, Store)])


def _write_streams(loop: Loop, ops: list[Op], low: str, high: str) -> str:
    """Write the elements from ``low`` in whole blocks whose results stream to memory; return the
    variable that holds the first element after them."""
    assert loop.vector is not None
    text, axis = loop.text, loop.v.axis[loop.vector.name]
    first = loop.v.names.fresh(f"{axis}_block")
    text.line(f"index {first} = {low};")
    with (
        text.block(f"for (; {first} + {STREAM_LANES} <= {high}; {first} += {STREAM_LANES})"),
        loop.streaming(ops, STREAM_LANES, first) as blocks,
    ):
        text.directive("omp simd")
        with text.block(f"for (int l = 0; l < {STREAM_LANES}; ++l)"):
            text.line(f"const index {axis} = {first} + l;")
            for op in ops:
                text.line(loop.lane_statement(op, blocks))
    return first


def _block_head(begin: str, size: int, step: int) -> str:
    return f"for (index {begin} = 0; {begin} < {size}; {begin} += {step})"


def _block_end(begin: str, end: str, size: int, step: int) -> str:
    reach = f"{begin} + {step}"
    bounded = reach if size % step == 0 else f"{reach} < {size} ? {reach} : {size}"
    return f"const index {end} = {bounded};"


def _write_squares(loop: Loop, crossed: Crossing) -> None:
    """Write square tiles of the vectorised and the crossing axis, so that every cache line is read
    once, whole."""
    assert loop.vector is not None
    text, side, pair = loop.text, loop.knobs.square, (crossed.axis, loop.vector)
    names = {axis: loop.v.axis[axis.name] for axis in pair}
    heads = loop.outer_heads(*pair)
    heads += [_block_head(f"{names[axis]}_begin", axis.size, side) for axis in pair]
    loop.parallel(len(heads))
    with text.loops(heads):
        for axis in pair:
            name = names[axis]
            text.line(_block_end(f"{name}_begin", f"{name}_end", axis.size, side))
        row, lane = names[crossed.axis], names[loop.vector]
        squares = {load: loop.v.names.fresh(f"{load.name}_square") for load in crossed.loads}
        for load, square in squares.items():
            text.line(f"alignas(64) {loop.v.type(load.name)} {square}[{side}][{side}];")
        with text.block(loop.head(loop.vector, f"{lane}_begin", f"{lane}_end")):
            text.directive("omp simd")
            with text.block(loop.head(crossed.axis, f"{row}_begin", f"{row}_end")):
                for load, square in squares.items():
                    cell = f"{square}[{row} - {row}_begin][{lane} - {lane}_begin]"
                    text.line(f"{cell} = {loop.v.load(load)};")
        for load, square in squares.items():
            loop.v.arrays[load.name] = f"{square}[{row} - {row}_begin][{lane} - {lane}_begin]"
        with text.block(loop.head(crossed.axis, f"{row}_begin", f"{row}_end")):
            text.directive("omp simd")
            with text.block(loop.head(loop.vector, f"{lane}_begin", f"{lane}_end")):
                body = [op for op in loop.kernel.body if not isinstance(op, Const)]
                loop.statements([op for op in body if op not in squares])

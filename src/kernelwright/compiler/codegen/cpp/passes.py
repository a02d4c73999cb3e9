"""C++ for the passes over inner elements: lane accumulators, row buffers, and chunks for
threads."""

from __future__ import annotations

from collections.abc import Callable

from kernelwright.compiler.codegen.cpp.loop import Loop
from kernelwright.compiler.codegen.cpp.nest import Pass
from kernelwright.compiler.codegen.cpp.reduce import Accumulator, start
from kernelwright.compiler.codegen.cpp.scan import declare_carry, scan_column, scan_lanes
from kernelwright.compiler.codegen.cpp.types import SIZE_BYTES, arithmetic
from kernelwright.compiler.ir.ir import Axis, Compute, Load, Scan, Store
from kernelwright.compiler.ir.ops import arguments
from kernelwright.compiler.ir.sizes import is_free, number

STACK_BYTES = 32 << 10
"""Size in bytes up to which row buffers go on the stack, because threads have small stacks."""
ROW_BYTES = 128 << 10
"""Size in bytes up to which the next row is prefetched: an eighth of a second-level cache."""
WINDOW = 8
"""Longest loop that is unrolled around lanes. Most bounds of a pooling window are then known to
hold, and its strided loads become shuffles instead of gathers."""
Lanes = int | str
"""The number of lanes in a block: a number, or 'n' in text that is used for two numbers."""


def write_element(loop: Loop, n: Lanes) -> None:
    """Write everything for one outer element (rows), or for one block of them (columns)."""
    loop.v.arrays.clear()
    passes = loop.nest.passes(loop.knobs.keep_cost)
    buffers = dict.fromkeys(name for trip in passes for name in trip.kept)
    to_free = [buffer for name in buffers if (buffer := _declare_buffer(loop, name))]
    by_level = {trip.level: trip for trip in passes}
    for level in range(loop.nest.n_levels):
        _outer_values(loop, level, n)
        if level in by_level:
            _reciprocals(loop, by_level[level])
            _pass(loop, by_level[level], n)
    for buffer in to_free:
        loop.text.line(f"free({buffer});")


def _declare_buffer(loop: Loop, name: str) -> str | None:
    """Declare the row buffer of a value; return its name if it must be freed after the row."""
    kind, buffer = loop.v.type(name), f"{loop.v.name[name]}_row"
    count = max(1, number(loop.nest.n_inner) * (1 if loop.is_rows else loop.lanes))
    size_bytes = count * (
        SIZE_BYTES["float32"] if kind == "float" else SIZE_BYTES[loop.v.dtype[name]]
    )
    if loop.cut:  # threads share the buffer
        rounded = -(-size_bytes // 64) * 64
        loop.text.line(f"{kind}* {buffer} = ({kind}*)aligned_alloc(64, {rounded});")
        return buffer
    if size_bytes <= STACK_BYTES:
        loop.text.line(f"alignas(64) {kind} {buffer}[{count}];")
        return None
    loop.text.line(f"alignas(64) static thread_local {kind} {buffer}_memory[{count}];")
    loop.text.line(f"{kind}* __restrict {buffer} = {buffer}_memory;")
    return None


def _outer_values(loop: Loop, level: int, n: Lanes) -> None:
    """Write the values computed once per outer element before a pass, as variables or arrays over
    lanes."""
    ops = loop.nest.row_ops(level)
    if loop.is_rows:
        loop.statements(ops)
        return
    loop.statements([op for op in ops if not loop.on_lanes(op)])
    ops = [op for op in ops if loop.on_lanes(op)]
    if not ops:
        return
    others = [op for op in loop.kernel.body if op not in ops]
    shared = [
        op.name
        for op in ops
        if not isinstance(op, Store) and any(op.name in arguments(other) for other in others)
    ]
    cells = {name: loop.v.names.fresh(f"{name}_lane") for name in shared}
    for name, cell in cells.items():
        loop.text.line(f"alignas(64) {loop.v.type(name)} {cell}[{n}];")
    with loop.lane_loop(n):
        for op in ops:
            loop.text.line(loop.v.statement(op))
            if not isinstance(op, Store) and op.name in cells:
                loop.text.line(f"{cells[op.name]}[l] = {loop.v.name[op.name]};")
    loop.v.arrays |= {name: f"{cell}[l]" for name, cell in cells.items()}


def _reciprocals(loop: Loop, trip: Pass) -> None:
    """Define 1 / d before a pass that divides by d throughout: a division takes several times as
    long as a multiplication, and the product differs from the quotient by one rounding.

    Source:
        Fog, Instruction tables: throughput of DIVPS and MULPS.
    """
    if not loop.is_rows:
        return
    for op in trip.values:
        if not isinstance(op, Compute) or op.op != "div" or op.dtype != "float32":
            continue
        divisor = op.args[1]
        if loop.nest.is_inner(loop.nest.ops[divisor]) or divisor in loop.v.inverse:
            continue
        loop.v.inverse[divisor] = loop.v.names.fresh(f"{divisor}_inverse")
        divided = f"1.0f / (float){loop.v.ref(divisor)}"
        loop.text.line(f"const float {loop.v.inverse[divisor]} = {divided};")


def _pass(loop: Loop, trip: Pass, n: Lanes) -> None:
    loop.text.line(f"// pass {trip.level + 1}: {_purpose(trip)}")
    serial = -(-loop.nest.n_inner // (loop.lanes if loop.is_rows else 1))
    accumulators = [Accumulator.of(op, loop.v, serial) for op in trip.reduces]
    if loop.cut:
        _chunks(loop, trip, accumulators, n)
        return
    for acc in accumulators:
        acc.declare(loop.text, n)
    _inner_loops(loop, trip, accumulators, n)
    for acc in accumulators:
        if loop.is_rows:
            _result(loop, acc, acc.result(loop.lanes))
        else:
            _result_in_lanes(loop, acc)


def _purpose(trip: Pass) -> str:
    parts = [f"{op.op} of {op.arg}" for op in trip.reduces]
    parts += [f"scan of {op.arg}" for op in trip.values if isinstance(op, Scan)]
    parts += [f"keep {name}" for name in trip.kept]
    parts += [f"store {op.tensor.name}" for op in trip.values if isinstance(op, Store)]
    return ", ".join(parts)


def _result(loop: Loop, acc: Accumulator, text: str) -> None:
    name = acc.op.name
    loop.text.line(f"const {loop.v.type(name)} {loop.v.name[name]} = {text};")


def _result_in_lanes(loop: Loop, acc: Accumulator) -> None:
    """Keep the result in its lanes; all lanes hold the same one if it does not vary over them."""
    varies = loop.knobs.vector in loop.nest.depends[acc.op.name]
    loop.v.arrays[acc.op.name] = f"({acc.lane_value('l' if varies else '0')})"


def _chunks(loop: Loop, trip: Pass, accumulators: list[Accumulator], n: Lanes) -> None:
    """Cut a pass into chunks for threads. The partial results are combined in order, so that the
    result does not depend on the number of threads."""
    text, each_chunk = loop.text, f"for (int chunk = 0; chunk < {loop.knobs.chunks}; ++chunk)"
    each_lane = f"for (int l = 0; l < {n}; ++l)"
    for acc in accumulators:
        width = "" if loop.is_rows else f"[{n}]"
        text.line(f"{arithmetic(acc.dtype)} {acc.lane}_part[{loop.knobs.chunks}]{width};")
    text.directive("omp parallel for schedule(static)")
    with text.block(each_chunk):
        for acc in accumulators:
            acc.declare(text, n)
        _inner_loops(loop, trip, accumulators, n)
        for acc in accumulators:
            if loop.is_rows:
                text.line(f"{acc.lane}_part[chunk] = {acc.fold(loop.lanes)};")
            else:
                text.line(f"{each_lane} {acc.lane}_part[chunk][l] = {acc.lane}[l];")
    for acc in accumulators:
        part = f"{acc.lane}_part[chunk]"
        if loop.is_rows:
            total = f"{acc.lane}_total"
            text.line(f"{arithmetic(acc.dtype)} {total} = {start(acc.op.op, acc.dtype)};")
            text.line(f"{each_chunk} {acc.combine(total, part)}")
            _result(loop, acc, f"({loop.v.type(acc.op.name)}){total}")
        else:
            acc.declare(text, n)
            with text.block(each_chunk):
                text.line(f"{each_lane} {acc.combine(f'{acc.lane}[l]', f'{part}[l]')}")
            _result_in_lanes(loop, acc)


def _range(loop: Loop, axis: Axis, step: int = 1) -> tuple[str, str]:
    """Return the begin and end of the loop over ``axis``, within the chunk if the axis is cut."""
    if axis != loop.cut:
        return "0", str(whole_blocks(axis.size, step))
    steps, chunks = _quotient(axis.size, step), loop.knobs.chunks
    times = f" * {step}" if step != 1 else ""
    return (
        f"(index)((int64_t)chunk * {steps} / {chunks}){times}",
        f"(index)((int64_t)(chunk + 1) * {steps} / {chunks}){times}",
    )


def _quotient(size: int, by: int) -> int | str:
    """Return ``size / by`` in C++, rounded down."""
    if by == 1:
        return size
    return f"({size} / {by})" if is_free(size) else size // by


def whole_blocks(size: int, n: int) -> int | str:
    """Return the number of elements in whole blocks of ``n``."""
    if n == 1:
        return size
    return f"({size} / {n} * {n})" if is_free(size) else size // n * n


def tail_call(loop: Loop, function: str, begin: str, size: int, n: int) -> str:
    """Return the call for the elements from ``begin`` on, which are fewer than ``n``: in one block,
    or in eights and ones where only the call knows how many there are."""
    if not is_free(size):
        return f"{function}({begin}, lanes_t<{size - size // n * n}>());"
    at = loop.v.names.fresh("tail")
    eights = f"for (; {at} + 8 <= {size}; {at} += 8) {function}({at}, lanes_t<8>());"
    ones = f"for (; {at} < {size}; ++{at}) {function}({at}, lanes_t<1>());"
    return f"{{ index {at} = {begin}; {eights} {ones} }}"


def _inner_loops(loop: Loop, trip: Pass, accumulators: list[Accumulator], n: Lanes) -> None:
    scans = [op for op in trip.values if isinstance(op, Scan)]
    carries = {op: declare_carry(loop, op, n) for op in scans}

    ahead = _fetched_ahead(loop, trip)

    def block(n: Lanes) -> None:
        for op, stride in ahead:
            place = loop.v.index(op.index, {loop.knobs.vector: loop.first})
            pointer = loop.v.pointer[op.tensor.name]
            loop.text.line(f"math::fetch<{n}>({pointer} + {place} + {stride});  // next row")
        with loop.reading(trip):
            values = list(trip.values)
            if loop.is_rows and carries:
                scan_lanes(loop, trip, carries, n)
                values = [op for op in values if not isinstance(op, Scan)]
            streamed = values if loop.is_rows else []
            with loop.streaming(streamed, n, loop.first) as blocks, loop.lane_loop(n):
                for op in values:
                    if isinstance(op, Scan):
                        scan_column(loop, op, carries[op])
                    else:
                        loop.text.line(loop.lane_statement(op, blocks))
                loop.keep(trip)
                for acc in accumulators:
                    acc.add(loop.text, loop.v, loop.place(), reverse=trip.reverse)

    heads = []
    for axis in loop.kernel.inner:
        if loop.is_rows and axis == loop.vector:
            continue
        name = loop.v.axis[axis.name]
        backward = f"for (index {name} = {axis.size - 1}; {name} >= 0; --{name})"
        head = backward if trip.reverse else loop.head(axis, *_range(loop, axis))
        is_short = not is_free(axis.size) and axis.size <= WINDOW
        is_window = is_short and not loop.is_rows and axis != loop.cut
        heads.append(f'_Pragma("GCC unroll {WINDOW}") {head}' if is_window else head)
    with loop.text.loops(heads):
        if not loop.is_rows:
            block(n)
        elif accumulators or carries or ahead or loop.knobs.stream:
            _row_blocks(loop, trip, block)
        else:
            _row_elements(loop, trip)


def _fetched_ahead(loop: Loop, trip: Pass) -> list[tuple[Load, int]]:
    """Return the loads whose next row this pass should prefetch, with the distance to it.

    The first pass over a row waits for memory; later passes find the row in cache and leave the
    memory idle. The second pass therefore prefetches the next row.
    """
    passes = loop.nest.passes(loop.knobs.keep_cost)
    outer = loop.kernel.outer
    if not (loop.knobs.prefetch and loop.is_rows and outer and not loop.cut):
        return []
    if len(passes) < 2 or trip.level != passes[1].level:
        return []
    found = {}
    for op in passes[0].values:
        if isinstance(op, Load) and not op.bounds and not op.gather:
            stride = op.index.coefficient(outer[-1].name)
            row_bytes = loop.nest.n_inner * SIZE_BYTES[op.tensor.dtype]
            is_row = op.index.coefficient(loop.knobs.vector) == 1 and stride >= loop.lanes
            if is_row and row_bytes <= ROW_BYTES:
                found[op.tensor.name, op.index] = (op, stride)
    return list(found.values())


def _row_elements(loop: Loop, trip: Pass) -> None:
    """Write a pass along a row that only stores values and fills row buffers."""
    assert loop.vector is not None
    loop.text.directive("omp simd")
    with loop.text.block(loop.head(loop.vector, *_range(loop, loop.vector))), loop.reading(trip):
        loop.statements(list(trip.values))
        loop.keep(trip)


def _row_blocks(loop: Loop, trip: Pass, block: Callable[[Lanes], None]) -> None:
    """Write the blocks of lanes of a row, and a shorter block at its end if they do not fill it."""
    assert loop.vector is not None
    first, n, size, text = loop.first, loop.lanes, loop.vector.size, loop.text
    whole = whole_blocks(size, n)
    low, high = _range(loop, loop.vector, n)
    head = f"for (index {first} = {low}; {first} < {high}; {first} += {n})"
    if trip.reverse:
        head = f"for (index {first} = {number(size) // n * n - n}; {first} >= 0; {first} -= {n})"
    if whole == size:
        with text.block(head):
            block(n)
        return
    step = f"const auto step = [&](index {first}, auto lanes) __attribute__((always_inline))"
    with text.block(""):
        with text.block(step, "};"):
            text.line("constexpr int n = lanes.n;")
            block("n")
        tail = tail_call(loop, "step", str(whole), size, n)
        if loop.cut == loop.vector:
            tail = f"if (chunk == {loop.knobs.chunks - 1}) {tail}"
        lines = [f"{head} step({first}, lanes_t<{n}>());", tail]
        for line in reversed(lines) if trip.reverse else lines:
            text.line(line)

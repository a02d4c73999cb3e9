"""Rows that are too long for one block: several blocks keep one row together and exchange their
sums.

Reading a row again from memory costs as much as the first time; if several processors keep it in
their registers, it is read once. A block's part of a reduction goes through a location in memory
that holds a mark until the part is written: data and signal are the same word, so neither a fence
nor a barrier across blocks is needed. All blocks must be resident at the same time.
"""

from __future__ import annotations

from kernelwright.compiler.codegen.cuda.reserved import COMBINE
from kernelwright.compiler.codegen.gpu.axes import size_of
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS
from kernelwright.compiler.codegen.gpu.stages import can_split, dtypes
from kernelwright.compiler.ir.ir import Kernel, Load, Reduce, Scan, Store

N_RESIDENT = 2 * N_PROCESSORS
"""Number of blocks of 512 threads, with 64 registers each, that are resident at the same time."""
GROUP_THREADS = 512
MOST_KEPT = 32
"""Number of values of a row that one such thread keeps: half of its registers."""

GROUP_REDUCE = """\
// Every thread of the blocks that share a row gets the combination of their parts.
template <int PARTS, class Combine>
DEVICE float group_reduce(float x, float start, float* place, int part, Combine combine) {
    x = x != x ? __int_as_float(0x7fc00000) : x;  // never the mark, which is one of many NaNs
    if (threadIdx.x == 0) *(volatile float*)(place + part) = x;
    float all = start;
    for (int other = threadIdx.x % 32; other < PARTS; other += 32) {
        float y;
        do y = *(volatile float*)(place + other); while (__float_as_int(y) == -1);
        all = combine(all, y);
    }
    __syncwarp();
    return warp_reduce(all, combine);
}
"""


def exchange_text(kernel: Kernel, together: int) -> str:
    """Return the statement (with a newline) that allocates the marked locations of a kernel's
    reductions."""
    n_places = size_of(kernel.outer) * sum(isinstance(op, Reduce) for op in kernel.body) * together
    options = f"dtype=torch.int32, device={kernel.reads[0].name}.device"
    return f"{kernel.name}_exchange = torch.full(({n_places},), -1, {options})\n"


def n_blocks(n_rows: int, together: int) -> int:
    """Return the number of blocks to launch: as many whole groups as are resident, or as there are
    rows."""
    return min(n_rows, N_RESIDENT // together) * together


def head(n_rows: int, together: int, index: str) -> list[str]:
    """Return the head of the loop over the rows of a group of blocks."""
    return [
        f"constexpr int GROUPS = {n_blocks(n_rows, together) // together};",
        f"const int part = blockIdx.x % {together};",
        f"for ({index} row = blockIdx.x / {together}; row < {n_rows}; row += GROUPS) {{",
    ]


def group_text(kernel: Kernel, op: Reduce, text: str, start: str, together: int) -> str:
    """Return the statements that reduce all blocks' parts; ``text`` is this block's part."""
    reduces = [other for other in kernel.body if isinstance(other, Reduce)]
    place = f"(row * {len(reduces)} + {reduces.index(op)}) * {together}"
    return (
        f"group_reduce<{together}>({text}, {start}, exchange + {place}, part, {COMBINE[op.op]}())"
    )


def blocks_together(kernel: Kernel, vector: int) -> int:
    """Return how many blocks should keep a row together; 1 if that gains nothing or is not
    possible.

    It gains something if a row is read in several passes and one block cannot keep it.
    """
    has_scan = any(isinstance(op, Scan) for op in kernel.body)
    if has_scan or not can_split(kernel) or not _is_read_where_written(kernel):
        return 1
    reduces = [op for op in kernel.body if isinstance(op, Reduce)]
    held = dtypes(kernel)
    if any(op.op.startswith("arg") or held[op.name] != "float32" for op in reduces):
        return 1
    scopes = kernel.scopes()
    stored = any(isinstance(op, Store) and scopes[op.value] == "inner" for op in kernel.body)
    columns, rows = size_of(kernel.inner), size_of(kernel.outer)
    block = GROUP_THREADS * (MOST_KEPT // vector) * vector
    together = -(-columns // block)
    is_long = columns > 2 * block and stored
    return together if is_long and 2 <= together <= N_RESIDENT // 2 and rows >= 4 else 1


def _is_read_where_written(kernel: Kernel) -> bool:
    """Return whether a block reads of the tensors that the kernel overwrites only what it keeps and
    then writes itself: the other blocks of a row may have written theirs by then."""
    inner = {axis.name for axis in kernel.inner}
    written = {op.tensor.name: op.index for op in kernel.body if isinstance(op, Store)}
    loads = [op for op in kernel.body if isinstance(op, Load) and op.tensor.name in written]
    return all(
        op.index == written[op.tensor.name]
        and op.index.axes & inner
        and not (op.bounds or op.gather)
        for op in loads
    )

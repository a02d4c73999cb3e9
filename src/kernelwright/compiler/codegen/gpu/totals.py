"""Sums over the rows of a kernel, made beside its rows: read once, a row gives its own result and
its share of the sums.

Each program goes through a share of the rows and adds up its columns in registers; a second kernel
adds up the programs' sums: the same order every time, no atomics.
"""

from __future__ import annotations

from dataclasses import replace

from kernelwright.compiler.codegen.gpu.axes import cone, size_of
from kernelwright.compiler.codegen.gpu.schedule import N_PROCESSORS
from kernelwright.compiler.codegen.gpu.stages import Stages, row_major
from kernelwright.compiler.ir.ir import (
    Axis,
    Kernel,
    Load,
    Op,
    Reduce,
    Store,
    Tensor,
    Total,
    contiguous,
)
from kernelwright.compiler.ir.ops import indices
from kernelwright.compiler.ir.sizes import is_free

SHARES = tuple(N_PROCESSORS * n for n in (1, 2, 3, 4, 6, 8, 12, 16))
"""Numbers of programs: so many for every processor."""


def totals(kernel: Kernel) -> list[Total]:
    """Return the sums over rows that a kernel makes."""
    return [op for op in kernel.body if isinstance(op, Total)]


def shares(kernel: Kernel, rows: int, per_processor: int) -> int:
    """Return the number of programs that share a kernel's rows, of which each takes ``rows`` at a
    time: so many for every processor, but none without rows."""
    wanted = N_PROCESSORS * per_processor
    n_rows = size_of(kernel.outer)
    return wanted if is_free(n_rows) else min(wanted, -(-n_rows // rows))


def sweep(kernel: Kernel, programs: int) -> Stages:
    """Return ``kernel`` with a part of every total from each of ``programs``, and the kernel that
    adds up the parts."""
    part = Axis("part", programs)
    shape = (programs, *(axis.size for axis in kernel.inner))
    within, at = row_major(kernel.inner), row_major((part, *kernel.inner))
    body: list[Op] = []
    rest: list[Op] = []
    workspace: list[Tensor] = []
    for op in kernel.body:
        if not isinstance(op, Total):
            body.append(op)
            continue
        name, dtype = f"total_{len(workspace)}", held_in(op)
        parts = contiguous(f"{kernel.name}_{name}_parts", shape, dtype)
        workspace.append(parts)
        body.append(Total(parts, within, op.value))
        rest += [
            Load(f"{name}_part", parts, at),
            Reduce(name, "sum", f"{name}_part", dtype),
            Store(op.tensor, op.index, name),
        ]
    main = replace(kernel, name=f"{kernel.name}_parts", body=tuple(body))
    whole = Kernel(f"{kernel.name}_whole", kernel.inner, (part,), tuple(rest))
    return Stages((main, whole), tuple(workspace))


def held_in(op: Total) -> str:
    """Return the dtype in which a total is added up."""
    return "float64" if op.tensor.dtype == "float64" else "float32"


def steady(kernel: Kernel) -> list[Op]:
    """Return the ops that give the same for every row: a weight's values, which are loaded once."""
    outer = {axis.name for axis in kernel.outer}
    written = {tensor.name for tensor in kernel.writes}
    by_name = {op.name: op for op in kernel.body if not isinstance(op, Store)}

    def moves(op: Op) -> bool:
        if isinstance(op, Reduce) or (isinstance(op, Load) and op.tensor.name in written):
            return True
        return bool(_axes(op) & outer)

    return [
        op
        for name, op in by_name.items()
        if not any(moves(by_name[each]) for each in cone(kernel.body, [name]))
    ]


def _axes(op: Op) -> frozenset[str]:
    return frozenset[str]().union(*(index.axes for index in indices(op)))

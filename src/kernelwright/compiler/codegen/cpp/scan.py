"""C++ for scans: each row has a running carry; blocks of lanes are scanned in registers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelwright.compiler.codegen.cpp.loop import Loop
from kernelwright.compiler.codegen.cpp.nest import Pass
from kernelwright.compiler.codegen.cpp.reduce import scan_dtype, scan_step, start
from kernelwright.compiler.codegen.cpp.types import arithmetic
from kernelwright.compiler.ir.ir import Scan, Store
from kernelwright.compiler.ir.ops import arguments


def declare_carry(loop: Loop, op: Scan, n: int | str) -> str:
    """Declare a scan's running value (one per lane where lanes are rows) and return its name."""
    dtype, carry = scan_dtype(op), loop.v.names.fresh(f"{op.name}_carry")
    kind, first = arithmetic(dtype), start(op.op, dtype)
    if loop.is_rows:
        loop.text.line(f"{kind} {carry} = {first};")
    else:
        loop.text.line(f"alignas(64) {kind} {carry}[{n}];")
        loop.text.line(f"for (int l = 0; l < {n}; ++l) {carry}[l] = {first};")
    return carry


def scan_column(loop: Loop, op: Scan, carry: str) -> None:
    """Write one step of a scan in a lane loop, where each lane is a row of its own."""
    kind, name, cell = loop.v.type(op.name), loop.v.name[op.name], f"{carry}[l]"
    value, *factor = (f"({arithmetic(scan_dtype(op))}){loop.v.ref(arg)}" for arg in arguments(op))
    step = scan_step(op, cell, value, *factor)
    result = f"const {kind} {name} = ({kind}){cell};"
    for line in (result, step) if op.exclusive else (step, result):
        loop.text.line(line)


def scan_lanes(loop: Loop, trip: Pass, carries: Mapping[Scan, str], n: int | str) -> None:
    """Write the scans of one block of a row: their arguments go into arrays, which are then
    scanned."""
    wanted: set[str] = set()
    for op in carries:
        for arg in arguments(op):
            wanted |= _sources(loop, arg, trip)
    cells = {
        (op, arg): loop.v.names.fresh(f"{op.name}_lane") for op in carries for arg in arguments(op)
    }
    for (op, _), cell in cells.items():
        loop.text.line(f"alignas(64) {arithmetic(scan_dtype(op))} {cell}[{n}];")
    with loop.lane_loop(n):
        loop.statements([op for op in trip.values if _name(op) in wanted])
        for (_, arg), cell in cells.items():
            loop.text.line(f"{cell}[l] = {loop.v.ref(arg)};")
    for op, carry in carries.items():
        cell, *factor = (cells[op, arg] for arg in arguments(op))
        _scan_array(loop, op, (cell, *factor), carry, n)
        loop.v.arrays[op.name] = f"({loop.v.type(op.name)}){cell}[l]"


def _scan_array(loop: Loop, op: Scan, arrays: Sequence[str], carry: str, n: int | str) -> None:
    array = arrays[0]
    if op.op == "sum" and not op.reverse and not op.exclusive and scan_dtype(op) == "float64":
        loop.text.line(f"math::scan_sum<{n}>({array}, {carry});")
        return
    lane = f"{array}[l]"
    forward, backward = f"int l = 0; l < {n}; ++l", f"int l = {n} - 1; l >= 0; --l"
    with loop.text.block(f"for ({backward if op.reverse else forward})"):
        if op.exclusive:
            loop.text.line(f"const {arithmetic(scan_dtype(op))} taken = {lane};")
            loop.text.line(f"{lane} = {carry};")
            loop.text.line(scan_step(op, carry, "taken"))
        else:
            loop.text.line(scan_step(op, carry, *(f"{each}[l]" for each in arrays)))
            loop.text.line(f"{lane} = {carry};")


def _name(op: object) -> str:
    return "" if isinstance(op, Store) else str(getattr(op, "name"))  # noqa: B009


def _sources(loop: Loop, name: str, trip: Pass) -> set[str]:
    """Return the values of this pass that ``name`` is computed from, itself included."""
    here = {_name(op) for op in trip.values}
    found, wanted = set(), [name]
    while wanted:
        name = wanted.pop()
        if name in here and name not in found:
            found.add(name)
            wanted += arguments(loop.nest.ops[name])
    return found

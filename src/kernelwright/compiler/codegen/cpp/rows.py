"""C++ for one loop nest in one of three layouts, chosen by the position of the vectorised axis.

flat     no inner axes: one vectorised loop
rows     an inner axis: lanes are neighbours in a row and are combined after each pass
columns  an outer axis: lanes are different outer elements, each with its own reduction
"""

from __future__ import annotations

from kernelwright.compiler.codegen.cpp.flat import write_flat
from kernelwright.compiler.codegen.cpp.loop import Knobs, Loop
from kernelwright.compiler.codegen.cpp.ops import stored
from kernelwright.compiler.codegen.cpp.passes import tail_call, whole_blocks, write_element
from kernelwright.compiler.codegen.cpp.text import Text, Values
from kernelwright.compiler.ir.ir import Const, Kernel, Op
from kernelwright.compiler.ir.sizes import number


def kernel_text(kernel: Kernel, knobs: Knobs) -> str:
    """Return the C++ function for ``kernel``; it has the kernel's name."""
    loop = Loop(kernel, knobs)
    text = loop.text
    for line in kernel.origin:
        text.line(f"// {line}")
    parameters = loop.v.parameters(loop.reads, loop.writes, loop.sizes)
    with text.block(f'extern "C" void {kernel.name}({parameters})'):
        write_constants(text, loop.v, loop.kernel.body)
        if not loop.nest.n_outer:
            pass
        elif not loop.kernel.inner:
            write_flat(loop)
        elif loop.is_rows:
            _write_rows(loop)
        else:
            _write_columns(loop)
    return str(text)


def write_constants(text: Text, values: Values, body: tuple[Op, ...]) -> None:
    """Define the constants of a body, each once."""
    for op in body:
        if isinstance(op, Const):
            text.line(values.constant(op))


def _write_rows(loop: Loop) -> None:
    if loop.totals:
        _write_rows_with_totals(loop)
        return
    heads = loop.outer_heads()
    loop.parallel(len(heads))
    with loop.text.loops(heads) if heads else loop.text.block(""):
        write_element(loop, loop.lanes)


def _write_rows_with_totals(loop: Loop) -> None:
    """Write the rows in chunks, each with its own sums in double precision, and then the totals:
    the chunks' sums in order, so that they do not depend on the number of threads."""
    text, chunks = loop.text, loop.knobs.chunks
    longest = max(loop.kernel.outer, key=lambda axis: axis.size)
    low, high = (
        f"(index)((int64_t){at} * {longest.size} / {chunks})" for at in ("chunk", "(chunk + 1)")
    )
    heads = [
        loop.head(axis, low, high) if axis == longest else loop.head(axis)
        for axis in loop.kernel.outer
    ]
    names = {op: loop.v.pointer[op.tensor.name] for op in loop.totals}
    sizes = {op: number(op.tensor.n_elements) for op in loop.totals}
    for op, name in names.items():
        text.line(f"double* {name}_parts = (double*)calloc({chunks} * {sizes[op]}, 8);")
    loop.parallel(1)
    with text.block(f"for (int chunk = 0; chunk < {chunks}; ++chunk)"):
        for op, name in names.items():
            text.line(f"double* __restrict {name}_sums = {name}_parts + chunk * {sizes[op]};")
        with text.loops(heads):
            write_element(loop, loop.lanes)
    for op, name in names.items():
        with text.block(f"for (index at = 0; at < {sizes[op]}; ++at)"):
            text.line("double total = 0;")
            each = f"for (int chunk = 0; chunk < {chunks}; ++chunk)"
            text.line(f"{each} total += {name}_parts[chunk * {sizes[op]} + at];")
            text.line(f"{name}[at] = {stored('total', 'float64', op.tensor.dtype)};")
        text.line(f"free({name}_parts);")


def _write_columns(loop: Loop) -> None:
    assert loop.vector is not None
    n, first, size, text = loop.lanes, loop.first, loop.vector.size, loop.text
    whole = whole_blocks(size, n)
    heads = loop.outer_heads(loop.vector)
    heads.append(f"for (index {first} = 0; {first} < {size}; {first} += {n})")
    loop.parallel(len(heads))
    with text.loops(heads):
        if whole == size:
            write_element(loop, n)
            return
        head = f"const auto columns = [&](index {first}, auto lanes) __attribute__((always_inline))"
        with text.block(head, "};"):
            text.line("constexpr int n = lanes.n;")
            write_element(loop, "n")
        text.line(f"if ({first} < {whole}) columns({first}, lanes_t<{n}>());")
        text.line(f"else {tail_call(loop, 'columns', first, size, n)}")

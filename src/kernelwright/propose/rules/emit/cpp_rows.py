"""C++ for one loop nest, in one of three layouts, by where the vectorised axis is.

flat     no inner axes: one vectorised loop
rows     an inner axis: lanes are neighbours in a row and are combined after each pass
columns  an outer axis: lanes are different outer elements, each with its own reduction
"""

from __future__ import annotations

from kernelwright.propose.rules.emit.cpp_flat import write_flat
from kernelwright.propose.rules.emit.cpp_loop import Knobs, Loop
from kernelwright.propose.rules.emit.cpp_passes import write_element
from kernelwright.propose.rules.emit.cpp_text import Text, Values
from kernelwright.propose.rules.emit.cpp_types import SIZE_BYTES
from kernelwright.propose.rules.ir import Const, Kernel, Op, Tensor

HUGE_BYTES = 4 << 20
"""Outputs from this size get huge pages: two of x86's are the least that can help when the
allocation is not aligned to them."""


def kernel_text(kernel: Kernel, knobs: Knobs) -> str:
    """The C++ function for ``kernel``, named as the kernel."""
    loop = Loop(kernel, knobs)
    text = loop.text
    for line in kernel.origin:
        text.line(f"// {line}")
    with text.block(f'extern "C" void {kernel.name}({loop.v.parameters(loop.reads, loop.writes)})'):
        write_preamble(text, loop.v, loop.kernel.body, loop.writes, knobs.fresh)
        if not loop.nest.n_outer:
            pass
        elif not loop.kernel.inner:
            write_flat(loop)
        elif loop.is_rows:
            _write_rows(loop)
        else:
            _write_columns(loop)
    return str(text)


def write_preamble(
    text: Text, values: Values, body: tuple[Op, ...], writes: list[Tensor], fresh: tuple[str, ...]
) -> None:
    """Constants, and huge pages for what is newly allocated."""
    for op in body:
        if isinstance(op, Const):
            text.line(values.constant(op))
    for tensor in writes:
        size_bytes = tensor.n_elements * SIZE_BYTES[tensor.dtype]
        if tensor.name in fresh and size_bytes >= HUGE_BYTES:
            text.line(f"huge_pages({values.pointer[tensor.name]}, {size_bytes});")


def _write_rows(loop: Loop) -> None:
    heads = loop.outer_heads()
    loop.parallel(len(heads))
    with loop.text.loops(heads) if heads else loop.text.block(""):
        write_element(loop, loop.lanes)


def _write_columns(loop: Loop) -> None:
    assert loop.vector is not None
    n, first, size, text = loop.lanes, loop.first, loop.vector.size, loop.text
    whole = size // n * n
    heads = loop.outer_heads(loop.vector)
    heads.append(f"for (index {first} = 0; {first} < {size}; {first} += {n})")
    loop.parallel(len(heads))
    with text.loops(heads):
        if whole == size:
            write_element(loop, n)
            return
        head = "const auto columns = [&](auto lanes) __attribute__((always_inline))"
        with text.block(head, "};"):
            text.line("constexpr int n = lanes.n;")
            write_element(loop, "n")
        text.line(f"if ({first} < {whole}) columns(lanes_t<{n}>());")
        text.line(f"else columns(lanes_t<{size - whole}>());")

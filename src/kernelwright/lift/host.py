"""A CUDA program as the host of lifted kernels: the bodies of its kernels call those."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from kernelwright.dialects.simt import machine
from kernelwright.dialects.simt.source import Edit, Source, apply_edits
from kernelwright.lift.build import twin
from kernelwright.lift.program import LiftedProgram

CALL = """#include <cstring>
extern "C" void* twin_find(void*);
template <class... A> __attribute__((noinline)) void call_lifted(A... given) {
  alignas(16) char arguments[4096];
  unsigned long end = 0;
  ((end = (end + alignof(A) - 1) / alignof(A) * alignof(A),
    std::memcpy(arguments + end, (const void*)&given, sizeof(A)), end += sizeof(A)), ...);
  using Lifted = void (*)(const void*);
  reinterpret_cast<Lifted>(twin_find(__builtin_return_address(0)))(arguments);
  asm volatile("" ::: "memory");
}
"""
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
LINK = ("-rdynamic",)
"""Kernels find each other by name in the program that they are linked into."""
CALLED = "lifted kernel: "
"""The beginning of a line of the error output that names a lifted kernel which was called."""


def hosted(text: str) -> str:
    """Return a CUDA program whose kernels call lifted ones, for the emulation to lower.

    Not covered: kernels of anonymous namespaces, which have no name that another file can use.
    """
    source = Source(text.encode(errors="surrogateescape"))
    edits = list(_edits(source))
    return apply_edits(source.text, edits).decode(errors="surrogateescape")


def _edits(source: Source) -> Iterator[Edit]:
    for node in source.nodes("gnu_asm_expression"):
        yield Edit(node.start_byte, node.end_byte, "(void)0")
    for node in source.nodes("function_definition"):
        body = node.child_by_field_name("body")
        if body is None or b"__global__" not in source.text[node.start_byte : body.start_byte]:
            continue
        names = ", ".join(_parameter_names(source, node))
        called = f'{{ call_lifted({names}); asm volatile(""); }}'
        yield Edit(body.start_byte, body.end_byte, called)
        yield from _visible(source, node, body.start_byte)
    for node in source.nodes("__constant__"):  # a variable that the lifted kernels see
        yield Edit(node.start_byte, node.end_byte, "")


def _visible(source: Source, node: Any, end: int) -> Iterator[Edit]:
    """Make a kernel a function that is called by its name in the program."""
    for child in node.children:
        word = source.text_of(child)
        if child.end_byte <= end and word in ("static", "inline"):
            yield Edit(child.start_byte, child.end_byte, "")
        if child.end_byte <= end and word == "__global__":
            yield Edit(child.end_byte, child.end_byte, " __attribute__((noinline))")


def _parameter_names(source: Source, function: Any) -> Iterator[str]:
    declarator = function.child_by_field_name("declarator")
    while declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator") or declarator.named_children[-1]
    for parameter in declarator.child_by_field_name("parameters").named_children:
        if parameter.type not in _PARAMETERS:
            continue
        at = parameter.child_by_field_name("declarator")
        while at is not None and at.type != "identifier":
            inner = at.child_by_field_name("declarator")
            at = inner or (at.named_children[-1] if at.named_children else None)
        if at is not None:
            yield source.text_of(at)


def build_with_twin(
    program: LiftedProgram, host: str, folder: Path, *, includes: Sequence[Path] = ()
) -> Path:
    """Build the CUDA program ``host`` with lifted kernels in place of its own; return its path.

    Raises:
        DialectError: this machine cannot build it at all.
        BuildError: the host or the lifted kernels do not compile or link.
    """
    kernels = twin(program, folder)
    unit = machine.compile_unit(
        CALL + host, folder=folder, name=f"{program.name}-host", includes=includes,
        is_checked=False, rewritten=hosted,
    )  # fmt: skip
    built = folder / program.name
    machine.link([unit, *kernels], built, flags=LINK)
    return built


def called_of(errors: str) -> tuple[str, ...]:
    """Return the lifted kernels that a run called, from its error output."""
    lines = errors.splitlines()
    return tuple(line.removeprefix(CALLED) for line in lines if line.startswith(CALLED))

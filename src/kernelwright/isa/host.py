"""Programs of the emulation whose kernels run as AMD instructions.

Each kernel's body is replaced by a call that hands its arguments to ``bridge.cpp``, which launches
the kernel of the same name in one of the program's code objects.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.dialects.amdgpu import find_clang
from kernelwright.dialects.kept import kept_folder
from kernelwright.dialects.simt import machine as simt
from kernelwright.dialects.simt.source import Edit, Source, apply_edits
from kernelwright.isa.machine import library

BRIDGE = Path(__file__).parent / "runtime" / "host" / "bridge.cpp"
LISTINGS, REPORT = "ISA_LISTINGS", "ISA_REPORT"
"""Environment variables of a program: its listings, one a line, and where it reports."""
_PARAMETERS = ("parameter_declaration", "optional_parameter_declaration")
_PACKS = ("variadic_parameter_declaration",)
_NAMES = ("identifier",)


@dataclass(frozen=True)
class Executed:
    """The kernels that a program ran, and the instructions that they executed."""

    kernels: tuple[tuple[str, int], ...] = ()
    """(kernel, instructions that its waves executed)."""
    fault: str = ""
    """The reason why a launch failed, and so the program ended; empty if none did."""
    launches: int = 0
    """Launches of kernels whose bodies are AMD instructions."""
    other_launches: int = 0
    """Launches of others: kernels of libraries, run as x86 code."""

    @property
    def instructions(self) -> int:
        return sum(n for _, n in self.kernels)


def offloaded(text: str) -> str:
    """Return the text of CUDA or HIP with calls of the emulator in place of kernels' bodies; line
    numbers stay the same.

    Not covered: kernels that macros define; they run as x86 code.
    """
    source = Source(text.encode(errors="surrogateescape"))
    edits = list(_edits(source))
    return apply_edits(source.text, edits).decode(errors="surrogateescape")


def _edits(source: Source) -> Iterator[Edit]:
    for node in source.nodes("declaration"):  # else a variable that only kernels read is dropped
        marks = {source.text_of(child) for child in node.children}
        if marks & {"__constant__", "__device__"}:
            yield Edit(node.start_byte, node.start_byte, "__attribute__((used)) ")
    for node in source.nodes("function_definition"):
        body = node.child_by_field_name("body")
        if body is None or b"__global__" not in source.text[node.start_byte : body.start_byte]:
            continue
        head = source.text[node.start_byte : body.start_byte]
        at = node.start_byte + head.index(b"__global__")
        yield Edit(at, at, "__attribute__((noinline)) ")
        given = []
        for number, parameter in enumerate(_parameters(node)):
            name = _name(source, parameter)
            if name is None:
                name = f"simt_p{number}"
                yield Edit(parameter.end_byte, parameter.end_byte, f" {name}")
            given.append(f"{name}..." if parameter.type in _PACKS else name)
        lines = "\n" * source.text[body.start_byte : body.end_byte].count(b"\n")
        yield Edit(
            body.start_byte, body.end_byte, f"{{ simt::offload({', '.join(given)}); {lines}}}"
        )


def _parameters(function: Any) -> list[Any]:
    declarator = function.child_by_field_name("declarator")
    while declarator is not None and declarator.type != "function_declarator":
        declarator = declarator.child_by_field_name("declarator")
    listed = declarator.child_by_field_name("parameters") if declarator is not None else None
    if listed is None:
        return []
    kinds = (*_PARAMETERS, *_PACKS)
    found = [child for child in listed.named_children if child.type in kinds]
    return [p for p in found if p.text != b"void"]


def _name(source: Source, parameter: Any) -> str | None:
    """Return a parameter's name; None if it has none."""
    node = parameter.child_by_field_name("declarator")
    while node is not None and node.type not in _NAMES:
        inner = node.child_by_field_name("declarator")
        if inner is None:
            inner = next(
                (c for c in reversed(node.named_children) if c.type != "type_qualifier"), None
            )
        node = inner
    return None if node is None else source.text_of(node)


@functools.cache
def bridge() -> tuple[Path, ...]:
    """Return what a program is linked with besides the emulation: the bridge and the emulator.

    Raises:
        DialectError: this machine cannot build or run the emulator.
    """
    emulator, clang = library(), find_clang()
    assert clang is not None
    texts = [BRIDGE.read_bytes(), (simt.HERE / "runtime.h").read_bytes()]
    texts.append((simt.HEADERS / "simt" / "core.h").read_bytes())
    version = hashlib.sha256(b"".join(texts) + str(emulator).encode()).hexdigest()

    def make(folder: Path) -> None:
        folders = (simt.HEADERS, simt.HERE, BRIDGE.parent.parent)
        flags = ("-std=c++17", "-O2", "-fno-pie", "-fdeclspec", *(f"-I{path}" for path in folders))
        simt.compile_with(clang, *flags, "-c", str(BRIDGE), "-o", str(folder / "bridge.o"))

    return (kept_folder("isa-bridge", version, make) / "bridge.o", emulator)


def environment(listings: Sequence[Path], report: Path) -> tuple[tuple[str, str], ...]:
    """Return the variables by which a program finds its listings and reports."""
    return (LISTINGS, "\n".join(map(str, listings))), (REPORT, str(report))


def executed(report: Path) -> Executed:
    """Return what a program reported; nothing was executed if it wrote no report."""
    if not report.exists():
        return Executed()
    said = json.loads(report.read_text())
    kernels = tuple((k["name"], k["executed"]) for k in said["kernels"] if k["executed"])
    return Executed(kernels, said["fault"], said["launches"], said["others"])

"""Hosts of lifted kernels: CUDA programs of the emulation whose kernels' bodies are replaced."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from kernelwright.dialects.simt import machine
from kernelwright.dialects.simt.source import Edit, Source, apply_edits
from kernelwright.isa.host import bridge, offloaded
from kernelwright.lift import LiftedProgram
from kernelwright.lift.build import twin

EXPORTED = ("-rdynamic",)
"""The twin's kernels and the host's find each other by their names in the program."""
CALLED = "lifted kernel: "
"""The beginning of a line of the error output that names a lifted kernel which was called."""


def host_with_twin(
    program: LiftedProgram, host: str, folder: Path, *, includes: Sequence[Path] = ()
) -> Path:
    """Build the CUDA program ``host`` with lifted kernels, as x86 code; return its path.

    Raises:
        DialectError: this machine cannot build it at all.
        BuildError: the host or the lifted kernels do not compile or link.
    """
    return _built(host, folder, includes, twin(program, folder))


def host_of_instructions(host: str, folder: Path, *, includes: Sequence[Path] = ()) -> Path:
    """Build the CUDA program ``host`` with calls of the emulator of AMD's instructions.

    Raises:
        DialectError: this machine cannot build it, or run the emulator.
        BuildError: the host does not compile or link.
    """
    return _built(host, folder, includes, bridge())


def _built(host: str, folder: Path, includes: Sequence[Path], kernels: Sequence[Path]) -> Path:
    unit = machine.compile_unit(
        host, folder=folder, name="host", includes=includes, is_checked=False, rewritten=hosted
    )
    machine.link([unit, *kernels], folder / "program", flags=EXPORTED)
    return folder / "program"


def hosted(text: str) -> str:
    """Return a CUDA program, or a header of it, whose kernels hand over their arguments.

    Not covered: kernels of anonymous namespaces, which have no name that another file can use.
    """
    source = Source(text.encode(errors="surrogateescape"))
    return offloaded(apply_edits(source.text, _edits(source)).decode(errors="surrogateescape"))


def _edits(source: Source) -> Iterator[Edit]:
    """Leave out what only a GPU's compiler reads, and what hides names from other files."""
    for node in source.nodes("gnu_asm_expression"):
        yield Edit(node.start_byte, node.end_byte, "(void)0")
    for node in source.nodes("function_definition", "declaration"):
        words = {source.text_of(child): child for child in node.children}
        if "__constant__" in words:
            yield Edit(words["__constant__"].start_byte, words["__constant__"].end_byte, "")
        if words.keys() & {"__global__", "__constant__", "__device__"} and "static" in words:
            yield Edit(words["static"].start_byte, words["static"].end_byte, "")


def called_of(errors: str) -> tuple[str, ...]:
    """Return the lifted kernels that a run of a twin called, from its error output."""
    lines = errors.splitlines()
    return tuple(line.removeprefix(CALLED) for line in lines if line.startswith(CALLED))

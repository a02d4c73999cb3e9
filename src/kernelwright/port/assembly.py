"""Ports of NVIDIA's machine code to AMD assembly: lifted, assembled, and run by its twin.

0 lint: every instruction was lifted.
1 compile: clang makes assembly and a code object of it for the AMD target.
2 emulate: the lifted kernels, built for this CPU, run under the program's own host code and leave
  what the original leaves. It needs the program's CUDA source as the host.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.dialects.amdgpu import read_resources
from kernelwright.dialects.nvidia import assemble_ptx
from kernelwright.dialects.simt import machine
from kernelwright.hipify import Finding, State, Translation
from kernelwright.lift import LiftedProgram, lift, used_rows
from kernelwright.lift.build import Assembled, assemble, build_missing
from kernelwright.lift.host import build_with_twin, called_of
from kernelwright.lift.launch import hip_header
from kernelwright.port.build_flags import Flags
from kernelwright.port.compared import faults_of
from kernelwright.port.emulated import NO_OPTIONS, RunOptions, ran, reference
from kernelwright.port.exact import read_exact
from kernelwright.port.ladder import Rung, RungStatus, lint
from kernelwright.port.outputs import write_outputs, write_report
from kernelwright.port.programs import Program
from kernelwright.port.report import PortedFile, PortReport

TARGETS = ("gfx1100", "gfx942")
RUNGS = (0, 1, 2)
SOURCES = (".cu", ".cuh", ".hip", ".py", ".cpp", ".h")
"""Suffixes of sources, which are ported by their text and not as machine code."""


@dataclass(frozen=True)
class AssemblyOptions:
    """The options of a port to AMD assembly, besides its path."""

    target: str
    rungs: tuple[int, ...] = (0, 1)
    host: Path | None = None
    """The program's CUDA source, whose host code runs the lifted kernels in rung 2."""
    running: RunOptions = NO_OPTIONS


def port_to_assembly(
    path: str | Path, options: AssemblyOptions, *, out: str | Path | None = None
) -> PortReport:
    """Lift a cubin, a listing of SASS, PTX, or an executable or library with CUDA kernels.

    Under ``out`` are the AMD assembly (.s), the code object (.co), a header with each kernel's
    arguments (.hpp), the listing that findings count lines in (.sass), and the report. Without
    ``out`` nothing is kept.

    Raises:
        UsageError: no such file, kind of file or rung; ``out`` holds a file that would be lost.
        DialectError: a tool that reads the file is missing.
    """
    source = Path(path)
    if not source.is_file() or source.suffix in SOURCES:
        raise UsageError(
            "only machine code is ported to AMD assembly",
            seen=str(source),
            do="name a .cubin, .sass or .ptx file or an executable; of a source: --to hip",
        )
    for rung in options.rungs:
        if rung not in RUNGS:
            do = "choose from 0, 1, 2"
            raise UsageError(f"no rung {rung} of AMD assembly's", seen=str(rung), do=do)
    program = _lifted(source)
    with tempfile.TemporaryDirectory() as scratch:
        under = Path(scratch, "kept") if out is None else Path(out)
        compiled, code = _compiles(program, options.target, Path(scratch))
        text = "" if code is None else code.assembly
        translation = Translation(text, tuple(_findings(program, source.name)))
        written = _write(under, source, program, code)
        rungs = [lint(translation)] if 0 in options.rungs else []
        rungs += [compiled] if 1 in options.rungs else []
        rungs += [_emulates(program, options, Path(scratch))] if 2 in options.rungs else []
        main = str(written[-1]) if code is not None else ""
        file = PortedFile(source.name, main, translation, tuple(rungs))
        report = PortReport(options.target, (options.target,), (file,))
        write_report(under, report.as_json(), written)
    return report


def _lifted(source: Path) -> LiftedProgram:
    if source.suffix != ".ptx":
        return lift(source)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, f"{source.stem}.cubin")
        assemble_ptx(source, cubin)
        return lift(cubin)


def _write(under: Path, source: Path, program: LiftedProgram, code: Assembled | None) -> list[Path]:
    """Write what a port leaves, and return the paths; the assembly is the last."""
    text, header, listing = (under / f"{source.stem}{end}" for end in (".s", ".hpp", ".sass"))
    texts = {listing: program.sass, header: hip_header(program)}
    if code is None:
        write_outputs(under, {source: listing}, texts)
        return list(texts)
    write_outputs(under, {source: listing}, texts | {text: code.assembly})
    object_ = under / f"{source.stem}.co"
    object_.write_bytes(code.code_object.read_bytes())
    return [*texts, object_, text]


def _findings(program: LiftedProgram, file: str) -> Iterator[Finding]:
    """Yield every instruction that was not lifted, and each mnemonic that was, once."""
    for found in program.unlifted:
        yield Finding(found.line, State.UNPORTED, found.text, "", found.reason, found.advice, file)
    for mnemonic in used_rows(program.lifted):
        yield Finding(0, State.TRANSLATED, mnemonic, file=file)


def _compiles(program: LiftedProgram, target: str, folder: Path) -> tuple[Rung, Assembled | None]:
    """Rung 1: clang makes a code object of the kernels that were lifted."""
    left = tuple(f"{k.name} was not lifted" for k in program.kernels if k.unlifted)
    if missing := build_missing():
        return Rung("compile", RungStatus.NOT_CHECKED, (missing,)), None
    if not program.lifted:
        return Rung("compile", RungStatus.FAILED, left), None
    try:
        built = assemble(program, target, folder)
    except machine.BuildError as error:
        return Rung("compile", RungStatus.FAILED, (str(error),)), None
    resources = tuple((target, kernel) for kernel in read_resources(built.code_object))
    status = RungStatus.FAILED if left else RungStatus.PASSED
    return Rung("compile", status, left, resources), built


def _emulates(program: LiftedProgram, options: AssemblyOptions, folder: Path) -> Rung:
    """Rung 2: the twin leaves what the original leaves under the emulation."""
    if missing := machine.emulation_missing():
        return Rung("emulate", RungStatus.NOT_CHECKED, (missing,))
    if options.host is None:
        why = "machine code has no host: name the program's CUDA source with --host"
        return Rung("emulate", RungStatus.NOT_CHECKED, (why,))
    if program.unlifted:
        return Rung("emulate", RungStatus.NOT_CHECKED, ("not all of it was lifted",))
    text, running = read_exact(options.host), options.running
    includes = (options.host.resolve().parent,)
    try:
        twin = build_with_twin(program, text, folder, includes=includes)
    except machine.BuildError as error:
        return Rung("emulate", RungStatus.NOT_CHECKED, (f"the twin: {error}",))
    place = folder / "original"
    place.mkdir()
    original = Program.of(text, options.host.name, Flags(includes))
    found = reference(original, place, running)
    if isinstance(found, str):
        return Rung("emulate", RungStatus.NOT_CHECKED, (f"the original {found}",))
    run, left = ran(twin, folder, running)
    called = called_of(run.errors)
    faults = tuple(faults_of(left, found.runs, running.limit_s))
    if not called:
        faults = ("no lifted kernel ran", *faults)
    status = RungStatus.FAILED if faults else RungStatus.PASSED
    if not faults and not found.values:
        status = RungStatus.RAN
    return Rung("emulate", status, faults, values=found.values, units=called)

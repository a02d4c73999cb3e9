"""Ports of NVIDIA's machine code to AMD assembly: lifted, assembled, and run by its twin.

0 lint: every instruction was lifted.
1 compile: clang makes assembly and a code object of it for the AMD target.
2 emulate: the lifted kernels, built for this CPU, run under the program's own host code and leave
  what the original leaves. It needs the program's CUDA source as the host.
5 isa: the same, with the AMD code object run instruction by instruction.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.dialects.amdgpu import read_resources
from kernelwright.dialects.nvidia import assemble_ptx
from kernelwright.dialects.simt import machine
from kernelwright.hipify import Finding, State, Translation
from kernelwright.isa import isa_missing, listing_of
from kernelwright.isa.host import environment, executed
from kernelwright.lift import LiftedProgram, lift, used_rows
from kernelwright.lift.build import Assembled, assemble, build_missing
from kernelwright.lift.launch import hip_header
from kernelwright.port.build_flags import Flags
from kernelwright.port.emulated import NO_OPTIONS, Reference, RunOptions, ran, reference
from kernelwright.port.exact import read_exact
from kernelwright.port.instructions import GAP, said_of
from kernelwright.port.ladder import Rung, RungStatus, lint
from kernelwright.port.lifted import called_of, host_of_instructions, host_with_twin
from kernelwright.port.outputs import write_outputs, write_report
from kernelwright.port.programs import Program
from kernelwright.port.report import PortedFile, PortReport

RUNGS = (0, 1, 2, 5)
SOURCES = (".cu", ".cuh", ".hip", ".py", ".cpp", ".h")
"""Suffixes of sources, which are ported by their text and not as machine code."""


@dataclass(frozen=True)
class AssemblyOptions:
    """The options of a port to AMD assembly, besides its path."""

    target: str
    rungs: tuple[int, ...] | None = None
    """The rungs to climb; by default 0 and 1, and with a host all."""
    host: Path | None = None
    """The program's CUDA source, whose host code runs the lifted kernels in rungs 2 and 5."""
    running: RunOptions = NO_OPTIONS

    @property
    def numbers(self) -> tuple[int, ...]:
        usual = RUNGS if self.host is not None else (0, 1)
        return tuple(sorted(set(usual if self.rungs is None else self.rungs)))


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
    for rung in options.numbers:
        if rung not in RUNGS:
            do = "choose from 0, 1, 2, 5"
            raise UsageError(f"no rung {rung} of AMD assembly's", seen=str(rung), do=do)
    program = _lifted(source)
    with tempfile.TemporaryDirectory() as scratch:
        under = Path(scratch, "kept") if out is None else Path(out)
        compiled, code = _compiles(program, options.target, Path(scratch))
        text = "" if code is None else code.assembly
        translation = Translation(text, tuple(_findings(program, source.name)))
        written = _write(under, source, program, code)
        rungs = [lint(translation)] if 0 in options.numbers else []
        rungs += [compiled] if 1 in options.numbers else []
        if {2, 5} & set(options.numbers):
            rungs += _Hosted(program, code, options, Path(scratch)).climb()
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
    status = RungStatus.FAILED if left or not resources else RungStatus.PASSED
    return Rung("compile", status, left, resources), built


@dataclass(frozen=True)
class _Hosted:
    """The rungs that run lifted kernels under the host code of their program."""

    program: LiftedProgram
    code: Assembled | None
    options: AssemblyOptions
    folder: Path

    def climb(self) -> list[Rung]:
        numbers = {2: ("emulate", self._twin), 5: ("isa", self._instructions)}
        chosen = [numbers[n] for n in sorted(numbers.keys() & set(self.options.numbers))]
        why = self._unrunnable()
        if why is None:
            place = self.folder / "original"
            place.mkdir()
            original = Program.of(self._text, self._host.name, Flags(self._includes))
            found = reference(original, place, self.options.running)
            why = f"the original {found}" if isinstance(found, str) else None
        if why is not None:
            return [Rung(name, RungStatus.NOT_CHECKED, (why,)) for name, _ in chosen]
        assert isinstance(found, Reference)
        rungs = []
        for name, run in chosen:
            try:
                rungs.append(run(found))
            except machine.BuildError as error:
                rungs.append(Rung(name, RungStatus.NOT_CHECKED, (f"the host: {error}",)))
        return rungs

    def _unrunnable(self) -> str | None:
        if missing := machine.emulation_missing():
            return missing
        if self.options.host is None:
            return "machine code has no host: name the program's CUDA source with --host"
        return "not all of it was lifted" if self.program.unlifted else None

    @property
    def _host(self) -> Path:
        assert self.options.host is not None
        return self.options.host

    @property
    def _text(self) -> str:
        return read_exact(self._host)

    @property
    def _includes(self) -> tuple[Path, ...]:
        return (self._host.resolve().parent,)

    def _place(self, name: str) -> Path:
        (self.folder / name).mkdir()
        return self.folder / name

    def _twin(self, found: Reference) -> Rung:
        place = self._place("twin")
        built = host_with_twin(self.program, self._text, place, includes=self._includes)
        run, left = ran(built, place, self.options.running)
        called = called_of(run.errors)
        faults = found.differences(left, self.options.running.limit_s)
        return _compared("emulate", found, faults, called)

    def _instructions(self, found: Reference) -> Rung:
        if (missing := isa_missing()) or self.code is None:
            return Rung("isa", RungStatus.NOT_CHECKED, (missing or "it was not assembled",))
        place, target = self._place("isa"), self.options.target
        built = host_of_instructions(self._text, place, includes=self._includes)
        report = place / "isa.json"
        variables = environment([listing_of(self.code.code_object, place)], report)
        _, left = ran(built, place, self.options.running, environment=variables)
        done = executed(report)
        if done.fault.startswith(GAP):
            return Rung("isa", RungStatus.NOT_CHECKED, (done.fault,))
        limit_s = self.options.running.limit_s
        faults = [done.fault] if done.fault else found.differences(left, limit_s)
        names = tuple(name for name, _ in done.kernels)
        rung = _compared("isa", found, faults, names)
        return rung if faults else replace(rung, details=(said_of(done, target),))


def _compared(name: str, found: Reference, faults: list[str], called: tuple[str, ...]) -> Rung:
    """Return the rung of a run; ``called`` are the lifted kernels that ran in it."""
    if not called:
        return Rung(name, RungStatus.NOT_CHECKED, ("no lifted kernel ran", *faults))
    status = RungStatus.FAILED if faults else RungStatus.PASSED
    if not faults and not found.values:
        status = RungStatus.RAN
    return Rung(name, status, tuple(faults), values=found.values, units=called)

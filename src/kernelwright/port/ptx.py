"""Ports of PTX to HIP: translated by tables, compiled, and run under the program's host code.

0 lint: every instruction was translated.
1 compile: clang makes device code of the HIP file for each AMD target.
2 emulate: its kernels run on this CPU, at 32 and 64 lanes, under the program's own host code, and
  leave what the original leaves. It needs the program's CUDA source as the host.
5 isa: the same, with AMD's code for the kernels run instruction by instruction.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import UsageError
from kernelwright.dialects.amdgpu import code_object, compile_missing
from kernelwright.dialects.simt import machine
from kernelwright.hipify.ptx.program import PtxTranslation, translate_ptx
from kernelwright.isa import isa_missing, listing_of
from kernelwright.isa.host import environment, executed
from kernelwright.port.build_flags import Flags
from kernelwright.port.emulated import NO_OPTIONS, RunOptions, emulates_built, ran, reference
from kernelwright.port.exact import read_exact
from kernelwright.port.instructions import GAP, TARGETS, emulated_target, said_of
from kernelwright.port.ladder import DeviceUnit, Rung, RungStatus, compiles, lint
from kernelwright.port.lifted import called_of, host_of_instructions
from kernelwright.port.outputs import write_outputs, write_report
from kernelwright.port.programs import Program
from kernelwright.port.project import DEFAULT_TARGETS
from kernelwright.port.ptx_programs import host_with_ptx
from kernelwright.port.report import PortedFile, PortReport

RUNGS = (0, 1, 2, 5)
USUAL, WITH_HOST = (0, 1), (0, 1, 2)


@dataclass(frozen=True)
class PtxOptions:
    """The options of a port of PTX, besides its path."""

    targets: tuple[str, ...] = DEFAULT_TARGETS
    rungs: tuple[int, ...] | None = None
    """The rungs to climb; by default 0 and 1, and with a host 2 as well."""
    host: Path | None = None
    """The program's CUDA source, whose host code runs the kernels in rungs 2 and 5."""
    running: RunOptions = NO_OPTIONS

    @property
    def numbers(self) -> tuple[int, ...]:
        usual = USUAL if self.host is None else WITH_HOST
        return tuple(sorted(set(usual if self.rungs is None else self.rungs)))


def port_ptx(path: str | Path, options: PtxOptions, *, out: str | Path | None = None) -> PortReport:
    """Translate a PTX file to HIP; the file and its report are written under ``out``, if given.

    Raises:
        UsageError: no such file, host, PTX or rung; ``out`` holds a file that would be lost.
    """
    source = Path(path)
    if not source.is_file():
        raise UsageError("no such file", seen=str(source), do="name a .ptx file")
    for rung in options.numbers:
        if rung not in RUNGS:
            raise UsageError(f"no rung {rung} of PTX", seen=str(rung), do="choose from 0, 1, 2, 5")
    if options.host is not None and not options.host.is_file():
        raise UsageError("no such host", seen=str(options.host), do="name a .cu file")
    translated = translate_ptx(read_exact(source), name=source.name)
    if not translated.kernels:
        do = "give what nvcc -ptx or Triton writes"
        raise UsageError("no kernel in this file", seen=str(source), do=do)
    with tempfile.TemporaryDirectory() as scratch:
        under = Path(scratch, "kept") if out is None else Path(out)
        written = under / f"{source.stem}.hip"
        write_outputs(under, {source: written}, {written: translated.text})
        rungs = tuple(_climbed(translated, written, options))
        file = PortedFile(source.name, str(written), translated, rungs)
        report = PortReport("hip", options.targets, (file,), options.numbers)
        write_report(under, report.as_json(), [written])
    return report


def _climbed(translated: PtxTranslation, written: Path, options: PtxOptions) -> list[Rung]:
    rungs = []
    if 0 in options.numbers:
        rungs.append(lint(translated))
    if 1 in options.numbers:
        rungs.append(compiles(DeviceUnit(written), targets=options.targets))
    for number, name, run in ((2, "emulate", _emulated), (5, "isa", _instructions)):
        if number not in options.numbers:
            continue
        if why := _unrunnable(translated, options):
            rungs.append(Rung(name, RungStatus.NOT_CHECKED, (why,)))
            continue
        with tempfile.TemporaryDirectory() as scratch:
            rungs.append(run(translated, options, Path(scratch)))
    return rungs


def _unrunnable(translated: PtxTranslation, options: PtxOptions) -> str | None:
    if options.host is None:
        return "PTX has no host: name the program's CUDA source with --host"
    return "not all of it was translated" if translated.unported else None


def _original(options: PtxOptions) -> tuple[Program, str, tuple[Path, ...]]:
    """Return the original program, its text, and where it finds its headers."""
    assert options.host is not None
    text, includes = read_exact(options.host), (options.host.resolve().parent,)
    return Program.of(text, options.host.name, Flags(includes)), text, includes


def _emulated(translated: PtxTranslation, options: PtxOptions, _folder: Path) -> Rung:
    original, text, includes = _original(options)
    called: list[str] = []

    def build(folder: Path) -> tuple[Path, tuple[str, ...]]:
        place = folder / "port"
        place.mkdir()
        program = host_with_ptx(translated, text, place, includes=includes)
        run, _ = ran(program, place, options.running)
        called.extend(called_of(run.errors))
        return program, tuple(called)

    rung = emulates_built(original, build, options.running)
    if rung.status is not RungStatus.NOT_CHECKED and not called:
        return Rung("emulate", RungStatus.NOT_CHECKED, ("no translated kernel ran", *rung.details))
    return rung


def _instructions(translated: PtxTranslation, options: PtxOptions, folder: Path) -> Rung:
    target = emulated_target(options.targets)
    missing = machine.emulation_missing() or compile_missing() or isa_missing()
    if missing or target not in TARGETS:
        why = missing or f"instructions of {target} are not emulated; name {', '.join(TARGETS)}"
        return Rung("isa", RungStatus.NOT_CHECKED, (why,))
    original, text, includes = _original(options)
    found = reference(original, folder, options.running)
    if isinstance(found, str):
        return Rung("isa", RungStatus.NOT_CHECKED, (f"the original {found}",))
    source, built = folder / "kernels.hip", folder / "kernels.co"
    source.write_text(translated.text)
    if errors := code_object(source, built, target=target):
        return Rung("isa", RungStatus.NOT_CHECKED, (f"{target}: {errors[0]}",))
    try:
        program = host_of_instructions(text, folder, includes=includes)
    except machine.BuildError as error:
        return Rung("isa", RungStatus.NOT_CHECKED, (f"the host: {error}",))
    report = folder / "isa.json"
    variables = environment([listing_of(built, folder)], report)
    running, width = options.running, TARGETS[target]
    _, left = ran(program, folder, running, width=width, environment=variables)
    done = executed(report)
    if done.fault.startswith(GAP) or not done.instructions:
        why = done.fault or "no kernel of the program was run as instructions"
        return Rung("isa", RungStatus.NOT_CHECKED, (why,))
    details = [done.fault] if done.fault else found.differences(left, running.limit_s)
    names = tuple(name for name, _ in done.kernels)
    if details:
        faults = tuple(f"{target}: {each}" for each in details)
        return Rung("isa", RungStatus.FAILED, faults, units=names)
    status = RungStatus.PASSED if found.values else RungStatus.RAN
    return Rung("isa", status, (said_of(done, target),), values=found.values, units=names)

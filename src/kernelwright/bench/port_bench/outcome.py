"""Evaluates one program under one translator: compiles it for AMD targets and runs it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.bench.port_bench.program import BenchProgram
from kernelwright.bench.port_bench.translators import Translator
from kernelwright.dialects.amdgpu import compile_hip, compile_missing
from kernelwright.dialects.simt import machine

TARGETS = ("gfx90a", "gfx942", "gfx1100")


@dataclass(frozen=True)
class ProgramOutcome:
    """The result of one program under one translator."""

    program: str
    domain: str
    is_hazardous: bool
    compiled: tuple[tuple[str, bool], ...]
    """(target, whether it compiles); empty if compiling could not be tried."""
    runs: tuple[tuple[int, bool], ...]
    """(wave width, whether the output was right under every schedule without complaints); empty if
    running could not be tried."""
    faults: tuple[str, ...] = ()
    on_nvidia: bool | None = None
    """Whether it behaves like the original on an NVIDIA GPU, with 32 lanes; None if not tried."""

    def compiles(self) -> bool:
        return bool(self.compiled) and all(is_built for _, is_built in self.compiled)

    def runs_at(self, width: int) -> bool:
        return dict(self.runs).get(width, False)


def evaluate(
    program: BenchProgram,
    translator: Translator,
    *,
    targets: Iterable[str] = TARGETS,
    widths: Iterable[int] = machine.WIDTHS,
) -> ProgramOutcome:
    """Translate a program, compile it for each target and run it at each wave width."""
    faults: list[str] = []
    compiled: list[tuple[str, bool]] = []
    runs: list[tuple[int, bool]] = []
    with tempfile.TemporaryDirectory() as folder:
        text = translator(program)
        path = Path(folder, f"{program.name}.hip")
        path.write_text(text)
        for target in targets if compile_missing() is None else ():
            built = compile_hip(path, target=target)
            compiled.append((target, built.is_built))
            faults += [f"{target}: {error}" for error in built.errors[:2]]
        if machine.emulation_missing() is None:
            runs, wrong = _runs(text, program, Path(folder), widths)
            faults += wrong
    return ProgramOutcome(
        program=program.name,
        domain=program.domain,
        is_hazardous=bool(program.hazards),
        compiled=tuple(compiled),
        runs=tuple(runs),
        faults=tuple(faults),
    )


def _runs(
    text: str, program: BenchProgram, folder: Path, widths: Iterable[int]
) -> tuple[list[tuple[int, bool]], list[str]]:
    """Return (width, whether it ran correctly) for each width, and all faults."""
    try:
        executable = machine.build(text, folder=folder)
    except machine.BuildError as error:
        return [(width, False) for width in widths], [f"emulation: {error}"]
    wrong = {width: _run(executable, program, width) for width in widths}
    runs = [(width, not faults) for width, faults in wrong.items()]
    return runs, [fault for faults in wrong.values() for fault in faults]


def _run(executable: Path, program: BenchProgram, width: int) -> list[str]:
    wrong = []
    for schedule in machine.SCHEDULES:
        run = machine.run(executable, width=width, schedule=schedule)
        where = f"{width} lanes, {schedule}"
        wrong += [f"{where}: {c.kind} at {c.place}: {c.detail}" for c in run.complaints]
        if run.exit_code or run.output.strip() != program.expected:
            wrong.append(f"{where}: exit {run.exit_code}, printed {run.output.strip()[:80]!r}")
    return wrong

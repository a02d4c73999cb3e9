"""One program through one translator: compiled for AMD targets, run at both wave widths."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelwright.bench.port_bench.program import Program
from kernelwright.bench.port_bench.translators import Translator
from kernelwright.dialects.amdgpu import compile_hip, compile_missing
from kernelwright.dialects.simt import machine

TARGETS = ("gfx90a", "gfx942", "gfx1100")


@dataclass(frozen=True)
class Outcome:
    """What became of one program under one translator."""

    program: str
    domain: str
    is_hazardous: bool
    compiled: tuple[tuple[str, bool], ...]
    """By target; empty where compiling could not be tried."""
    runs: tuple[tuple[int, bool], ...]
    """By wave width: the right output under every schedule, and nothing wrong seen. Empty where
    running could not be tried."""
    faults: tuple[str, ...] = ()
    on_nvidia: bool | None = None
    """Whether it does on an NVIDIA GPU what the original does there, at 32 lanes; None where that
    was not tried."""

    def compiles(self) -> bool:
        return bool(self.compiled) and all(is_built for _, is_built in self.compiled)

    def runs_at(self, width: int) -> bool:
        return dict(self.runs).get(width, False)


def evaluate(
    program: Program, translator: Translator, *, targets: Iterable[str] = TARGETS,
    widths: Iterable[int] = machine.WIDTHS,
) -> Outcome:  # fmt: skip
    """One program through one translator, compiled for each target and run at each width."""
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
    return Outcome(
        program.name, program.domain, bool(program.hazards), tuple(compiled), tuple(runs),
        tuple(faults),
    )  # fmt: skip


def _runs(
    text: str, program: Program, folder: Path, widths: Iterable[int]
) -> tuple[list[tuple[int, bool]], list[str]]:
    """Width by width whether it ran right, and all that was wrong."""
    try:
        executable = machine.build(text, folder=folder)
    except machine.BuildError as error:
        return [(width, False) for width in widths], [f"emulation: {error}"]
    wrong = {width: _run(executable, program, width) for width in widths}
    return [(w, not said) for w, said in wrong.items()], [
        f for said in wrong.values() for f in said
    ]


def _run(executable: Path, program: Program, width: int) -> list[str]:
    wrong = []
    for schedule in machine.SCHEDULES:
        run = machine.run(executable, width=width, schedule=schedule)
        where = f"{width} lanes, {schedule}"
        wrong += [f"{where}: {c.kind} at {c.place}: {c.detail}" for c in run.complaints]
        if run.exit_code or run.output.strip() != program.expected:
            wrong.append(f"{where}: exit {run.exit_code}, printed {run.output.strip()[:80]!r}")
    return wrong

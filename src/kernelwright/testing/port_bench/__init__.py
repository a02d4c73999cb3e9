"""A bench of programs for translators: CUDA sources with the output that they must print.

Each program is one file under ``programs`` whose first comments say its domain, the hazards in it
for waves of 64 lanes, and the line that it prints. Any translator that gives HIP text can be run
over it: the text is compiled for AMD targets and run under the emulation at both wave widths.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from kernelwright.dialects.amdgpu import compile_hip, compile_missing
from kernelwright.dialects.simt import machine

PROGRAMS = Path(__file__).parent / "programs"
TARGETS = ("gfx90a", "gfx942", "gfx1100")
_HEAD = re.compile(r"^// (domain|hazards|expect): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Program:
    """One program of the bench."""

    name: str
    domain: str
    hazards: tuple[str, ...]
    expected: str
    source: str


@dataclass(frozen=True)
class Outcome:
    """What became of one program under one translator."""

    program: str
    domain: str
    is_hazardous: bool
    compiled: tuple[tuple[str, bool], ...]
    """By target; empty where compiling could not be tried."""
    runs: tuple[tuple[int, bool], ...]
    """By wave width: the right output under every schedule, and nothing wrong seen."""
    faults: tuple[str, ...] = ()

    def compiles(self) -> bool:
        return bool(self.compiled) and all(is_built for _, is_built in self.compiled)

    def runs_at(self, width: int) -> bool:
        return dict(self.runs).get(width, False)


@cache
def programs() -> tuple[Program, ...]:
    """All programs, by name."""
    return tuple(_read(path) for path in sorted(PROGRAMS.glob("*.cu")))


def _read(path: Path) -> Program:
    source = path.read_text()
    head = dict(_HEAD.findall(source))
    hazards = tuple(h for h in head["hazards"].split() if h != "none")
    return Program(path.stem, head["domain"], hazards, head["expect"], source)


def evaluate(
    program: Program, translator: Callable[[Program], str], *, targets: Iterable[str] = TARGETS,
    widths: Iterable[int] = machine.WIDTHS,
) -> Outcome:  # fmt: skip
    """One program through one translator, compiled for each target and run at each width."""
    faults: list[str] = []
    compiled, runs = [], []
    with tempfile.TemporaryDirectory() as folder:
        text = translator(program)
        path = Path(folder, f"{program.name}.hip")
        path.write_text(text)
        for target in targets if compile_missing() is None else ():
            built = compile_hip(path, target=target)
            compiled.append((target, built.is_built))
            faults += [f"{target}: {error}" for error in built.errors[:2]]
        try:
            executable = machine.build(text, folder=Path(folder))
        except machine.BuildError as error:
            runs = [(width, False) for width in widths]
            faults.append(f"emulation: {error}")
        else:
            for width in widths:
                wrong = _run(executable, program, width)
                runs.append((width, not wrong))
                faults += wrong
    return Outcome(
        program.name, program.domain, bool(program.hazards), tuple(compiled), tuple(runs),
        tuple(faults),
    )  # fmt: skip


def _run(executable: Path, program: Program, width: int) -> list[str]:
    wrong = []
    for schedule in machine.SCHEDULES:
        run = machine.run(executable, width=width, schedule=schedule)
        where = f"{width} lanes, {schedule}"
        wrong += [f"{where}: {c.kind} at {c.place}: {c.detail}" for c in run.complaints]
        if run.exit_code or run.output.strip() != program.expected:
            wrong.append(f"{where}: exit {run.exit_code}, printed {run.output.strip()[:80]!r}")
    return wrong

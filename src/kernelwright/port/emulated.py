"""Rung 2: a program and its port run under the emulation, and what they leave is compared."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.dialects.simt import machine
from kernelwright.hipify.warp_synchrony import in_step, in_waves
from kernelwright.port.compared import (
    COPIES,
    OUTPUT,
    Left,
    copies_differ,
    counted,
    ended,
    faults_of,
    snapshot,
    workplace,
    written_since,
)
from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.port.programs import Builder, Program

LIMIT_S = 60.0
HARMLESS = ("barrier-exit",)
"""Kinds of complaints that are ignored if the original causes them as well: neither NVIDIA's
barriers nor AMD's wait for threads that have returned. Races are not among them."""
N_ORIGINAL = 2
"""Runs of the original; what differs between them (times, addresses) is not compared."""
_LIBRARIES = re.compile(
    r"#\s*include\s*[<\"](thrust/|cub/|cu(blas|fft|rand|sparse|solver|dnn)|hip(blas|cub|fft|rand))"
)
"""Headers of libraries that compute without launches of the program's own."""


@dataclass(frozen=True)
class RunOptions:
    """How programs are run, from rung 2 on."""

    arguments: tuple[str, ...] = ()
    stdin: bytes = b""
    folder: Path | None = None
    """The folder that programs run in copies of; by default an empty one."""
    limit_s: float = LIMIT_S
    compare: tuple[str, ...] = ()
    """Files that are compared besides those that the program writes in its folder."""


NO_OPTIONS = RunOptions()


@dataclass(frozen=True)
class Reference:
    """The results that the original left under the emulation."""

    runs: tuple[Left, ...]
    complaints: tuple[machine.Complaint, ...]
    values: tuple[tuple[str, int], ...]
    units: tuple[str, ...]

    @property
    def habits(self) -> frozenset[str]:
        """Kinds of its complaints that harm no port."""
        return frozenset(c.kind for c in self.complaints if c.kind in HARMLESS)


def emulates(original: Program, ported: Program, options: RunOptions = NO_OPTIONS) -> Rung:
    """Rung 2: run ``ported`` at both widths and compare it with ``original`` at 32 lanes.

    Output, exit code and written files are compared, except for what differs between two runs of
    the original. An original that cannot run here leaves the rung unchecked.
    """
    if missing := machine.emulation_missing():
        return Rung("emulate", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            program, units = Builder(folder / "port", in_waves).build(ported)
        except machine.BuildError as error:
            return Rung("emulate", RungStatus.NOT_CHECKED, (f"the port: {error}",))
        found = reference(original, folder, options)
        if isinstance(found, str):
            return Rung("emulate", RungStatus.NOT_CHECKED, (f"the original {found}",))
        details: list[str] = []
        for width in machine.WIDTHS:
            for schedule in machine.SCHEDULES:
                run, left = ran(program, folder, options, width=width, schedule=schedule)
                where = f"{width} lanes, {schedule}"
                details += [f"{where}: {said}" for said in _complaints(run, found)]
                said_of = faults_of(left, found.runs, options.limit_s)
                if COPIES in dict(found.values) and not said_of:
                    said_of = copies_differ(left.copies, found.runs[0].copies)
                details += [f"{where}: {said}" for said in said_of]
                if run.exit_code in (machine.LATE, machine.HANG):
                    break  # the other schedules would take as long
    own = tuple(f"the original too: {habit}" for habit in sorted(found.habits))
    status = RungStatus.FAILED if details else RungStatus.PASSED
    if not details and not found.values:
        status = RungStatus.RAN
    said = (*dict.fromkeys(details), *own)
    return Rung("emulate", status, said, values=found.values, units=units)


def reference(original: Program, folder: Path, options: RunOptions) -> Reference | str:
    """Return what the original leaves under the emulation, or why it cannot be run here.

    If the original relies on lanes in lockstep, they run in lockstep: otherwise the emulation runs
    them one by one. A last run without kernels shows which values kernels compute.
    """
    try:
        program, units = Builder(folder / "original", in_step).build(original)
    except machine.BuildError as error:
        return f"does not build here: {error}"
    runs = []
    complaints: tuple[machine.Complaint, ...] = ()
    for _ in range(N_ORIGINAL):
        run, left = ran(program, folder, options)
        if run.exit_code < 0 or run.exit_code in (machine.LATE, machine.HANG):
            return "; ".join([ended(run.exit_code, run.errors, options.limit_s), *_said(run)])
        runs.append(left)
        complaints = complaints or run.complaints
    idle = None
    if not any(_LIBRARIES.search(u.text) for u in (original.main, *original.others)):
        _, idle = ran(program, folder, options, is_idle=True)
    values = counted(runs, idle)
    return Reference(tuple(runs), complaints, tuple(values.items()), units)


def ran(
    program: Path,
    folder: Path,
    options: RunOptions,
    *,
    width: int = 32,
    schedule: str = "forward",
    is_idle: bool = False,
    environment: tuple[tuple[str, str], ...] = (),
) -> tuple[machine.EmulatedRun, Left]:
    """Run a program in a copy of its folder, and return the run and what it left."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        place = workplace(options.folder, Path(scratch, "run"))
        before = snapshot(place)
        how = machine.Running(options.arguments, options.limit_s, options.stdin, place, environment)
        run = machine.run(program, width=width, schedule=schedule, how=how, is_idle=is_idle)
        files = dict(written_since(before, place, options.compare))
    return run, Left(run.exit_code, run.output, files, run.errors, run.copies)


def _said(run: machine.EmulatedRun) -> list[str]:
    return [f"{c.kind} at {c.place}: {c.detail} (x{c.count})" for c in run.complaints]


def _complaints(run: machine.EmulatedRun, original: Reference) -> list[str]:
    kinds = {complaint.kind for complaint in original.complaints}
    return [
        said + (", as in the original" if c.kind in kinds else "")
        for c, said in zip(run.complaints, _said(run), strict=True)
        if c.kind not in original.habits
    ]


def shown(rung: Rung) -> str:
    """Return in words what a rung compared: empty if nothing was."""
    n = sum(count for _, count in rung.values)
    if not n:
        return ""
    parts = [f"{count:,} in {place}" for place, count in rung.values]
    if len(parts) == 1 and rung.values[0][0] == OUTPUT:
        return f"{n:,} values compared"
    return f"{n:,} values compared: {', '.join(parts)}"


def at_folder(options: RunOptions, folder: Path | None) -> RunOptions:
    """Return the options for a program in ``folder``, unless they name another folder."""
    return options if options.folder is not None else replace(options, folder=folder)

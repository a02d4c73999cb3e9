"""Rung 2: a program and its port run under the emulation, and what they leave is compared."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from kernelwright.dialects.simt import machine
from kernelwright.hipify.warp_synchrony import in_step, in_waves
from kernelwright.port.compared import (
    COPIES,
    MEMORY,
    OUTPUT,
    Left,
    bytes_differ,
    counted,
    ended,
    faults_of,
    snapshot,
    workplace,
    written_since,
)
from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.port.programs import Builder, Program, Unit

LIMIT_S = 60.0
HARMLESS = ("barrier-exit",)
"""Kinds of complaints that are ignored if the original causes them as well: neither NVIDIA's
barriers nor AMD's wait for threads that have returned. Races are not among them."""
T = TypeVar("T")
Setting = tuple[int, str]
"""The lanes of a wave and the order of threads of a run."""
OF_THE_PORT = ("shift",)
"""Kinds of complaints about what NVIDIA's GPUs define and AMD's do otherwise: the original may do
it, the port may not. Source: PTX ISA, shl, shr; LLVM's AMDGPU: v_lshlrev_b32 uses five bits."""
AS_ORIGINAL = ", as in the original"
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
    program: Path
    """The original as it was built, in a folder that outlives this object."""

    def varies(self, schedule: str, folder: Path, options: RunOptions) -> bool:
        """Return whether the original, which does something wrong, leaves something else itself if
        its threads run in this order."""
        if schedule == machine.SCHEDULES[0] or not self.complaints:
            return False
        _, left = ran(self.program, folder, options, schedule=schedule)
        return bool(self.differences(left, options.limit_s))

    def differences(self, left: Left, limit_s: float) -> list[str]:
        """Return how a run differs from the original's, in words."""
        said = faults_of(left, self.runs, limit_s)
        for place in (COPIES, MEMORY):
            if place in dict(self.values) and not said:
                said = bytes_differ(left.noted(place), self.runs[0].noted(place), place)
        return said

    @property
    def habits(self) -> frozenset[str]:
        """Kinds of its complaints that harm no port."""
        return frozenset(c.kind for c in self.complaints if c.kind in HARMLESS)


def emulates(original: Program, ported: Program, options: RunOptions = NO_OPTIONS) -> Rung:
    """Rung 2: run ``ported`` at both widths and compare it with ``original`` at 32 lanes.

    Output, exit code and written files are compared, except for what differs between two runs of
    the original. An original that cannot run here leaves the rung unchecked.
    """

    def build(folder: Path) -> tuple[Path, tuple[str, ...]]:
        return Builder(folder / "port", in_waves).build(ported)

    return emulates_built(original, build, options, _renamed(original, ported))


def emulates_built(
    original: Program,
    build: Callable[[Path], tuple[Path, tuple[str, ...]]],
    options: RunOptions = NO_OPTIONS,
    names: Mapping[str, str] | None = None,
) -> Rung:
    """Rung 2 of a port that ``build`` makes in a folder; it returns the program and its units.

    ``names`` are the original's names of its files, by those that the port gave them.
    """
    if missing := machine.emulation_missing():
        return Rung("emulate", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            program, units = build(folder)
        except machine.BuildError as error:
            return Rung("emulate", RungStatus.NOT_CHECKED, (f"the port: {error}",))
        found = reference(original, folder, options)
        if isinstance(found, str):
            return Rung("emulate", RungStatus.NOT_CHECKED, (f"the original {found}",))
        details = list(_faults(program, found, names or {}, folder, options))
    own = tuple(f"the original too: {habit}" for habit in sorted(found.habits))
    said = (*dict.fromkeys(details), *own)
    return Rung("emulate", _status(details, found), said, values=found.values, units=units)


def _faults(
    program: Path,
    found: Reference,
    names: Mapping[str, str],
    folder: Path,
    options: RunOptions,
) -> Iterator[str]:
    """Yield what a port does wrong, or leaves otherwise than the original, at both widths and in
    every order of its threads. If the first order exceeds the time limit, the others are left out:
    they would take as long."""
    first = [(width, machine.SCHEDULES[0]) for width in machine.WIDTHS]

    def run_all(settings: list[Setting]) -> dict[Setting, tuple[machine.EmulatedRun, Left]]:
        works = [
            partial(ran, program, folder, options, width=width, schedule=schedule)
            for width, schedule in settings
        ]
        return dict(zip(settings, at_once(works), strict=True))

    runs = run_all(first)
    ended_ = (machine.LATE, machine.HANG)
    widths = [width for width, order in first if runs[width, order][0].exit_code not in ended_]
    runs |= run_all([(width, order) for width in widths for order in machine.SCHEDULES[1:]])
    for width, schedule in sorted(runs, key=lambda s: (s[0], machine.SCHEDULES.index(s[1]))):
        run, left = runs[width, schedule]
        said = _complaints(run, found)
        differs = found.differences(_with_names(left, names), options.limit_s)
        if differs and found.varies(schedule, folder, options):
            differs = [each + AS_ORIGINAL for each in differs]
        for each in (*said, *differs):
            yield f"{width} lanes, {schedule}: {each}"


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Do works that are independent of each other, as many at once as there are cores, and return
    their results in order."""
    pool = ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0)))
    try:
        return [done.result() for done in [pool.submit(work) for work in works]]
    finally:
        pool.shutdown(cancel_futures=True)  # after an interrupt no further run starts


def _renamed(original: Program, ported: Program) -> dict[str, str]:
    """Return the names of files that the port gave other suffixes, by their new names: programs
    print them by ``__FILE__``."""
    before = {Path(unit.name).stem: Path(unit.name).name for unit in _units(original)}
    after = (Path(unit.name) for unit in _units(ported))
    return {p.name: before[p.stem] for p in after if before.get(p.stem, p.name) != p.name}


def _units(program: Program) -> tuple[Unit, ...]:
    return (program.main, *program.others)


def _with_names(left: Left, names: Mapping[str, str]) -> Left:
    """Return what a port left, with the original's names of its files in the output."""
    output = left.output
    for new, old in names.items():
        output = output.replace(new, old)
    return replace(left, output=output)


def _status(details: Sequence[str], found: Reference) -> RungStatus:
    if not details:
        return RungStatus.PASSED if found.values else RungStatus.RAN
    is_own = all(detail.endswith(AS_ORIGINAL) for detail in details)
    return RungStatus.AS_ORIGINAL if is_own else RungStatus.FAILED


def reference(original: Program, folder: Path, options: RunOptions) -> Reference | str:
    """Return what the original leaves under the emulation, or why it cannot be run here.

    If the original relies on lanes in lockstep, they run in lockstep: otherwise the emulation runs
    them one by one. A last run without kernels shows which values kernels compute.
    """
    try:
        program, units = Builder(folder / "original", in_step).build(original)
    except machine.BuildError as error:
        return f"does not build here: {error}"
    works = [partial(ran, program, folder, options) for _ in range(N_ORIGINAL)]
    if not any(_LIBRARIES.search(u.text) for u in (original.main, *original.others)):
        works.append(partial(ran, program, folder, options, is_idle=True))
    done = at_once(works)
    for run, _ in done[:N_ORIGINAL]:
        if run.exit_code < 0 or run.exit_code in (machine.LATE, machine.HANG):
            return "; ".join([ended(run.exit_code, run.errors, options.limit_s), *_said(run)])
    runs = [left for _, left in done[:N_ORIGINAL]]
    complaints = next((run.complaints for run, _ in done[:N_ORIGINAL] if run.complaints), ())
    idle = done[N_ORIGINAL][1] if len(done) > N_ORIGINAL else None
    values = tuple(counted(runs, idle).items())
    if MEMORY in dict(values):  # what depends on the order of threads there is no result
        _, other = ran(program, folder, options, schedule=machine.SCHEDULES[1])
        values = () if bytes_differ(other.memory, runs[0].memory, MEMORY) else values
    return Reference(tuple(runs), complaints, values, units, program)


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
    return run, Left(run.exit_code, run.output, files, run.errors, run.copies, run.memory)


def _said(run: machine.EmulatedRun) -> list[str]:
    return [f"{c.kind} at {c.place}: {c.detail} (x{c.count})" for c in run.complaints]


def _complaints(run: machine.EmulatedRun, original: Reference) -> list[str]:
    kinds = {c.kind for c in original.complaints} - set(OF_THE_PORT)
    return [
        said + (AS_ORIGINAL if c.kind in kinds else "")
        for c, said in zip(run.complaints, _said(run), strict=True)
        if c.kind not in original.habits
    ]


def shown(rung: Rung) -> str:
    """Return in words what a rung compared: empty if nothing was."""
    n = sum(count for _, count in rung.values)
    if not n:
        return ""
    total = f"{n:,} value{'s' if n > 1 else ''} compared"
    parts = [f"{count:,} in {place}" for place, count in rung.values]
    if len(parts) == 1 and rung.values[0][0] == OUTPUT:
        return total
    return f"{total}: {', '.join(parts)}"


def at_folder(options: RunOptions, folder: Path | None) -> RunOptions:
    """Return the options for a program in ``folder``, unless they name another folder."""
    return options if options.folder is not None else replace(options, folder=folder)

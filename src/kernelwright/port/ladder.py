"""The ladder: the checks of a translated file, each rung a claim of its own.

0 lint: nothing is left unported.
1 compile: the device code compiles and links for every AMD target.
2 emulate: the program runs on the CPU at 32 and 64 lanes per wave, under several schedules, prints
  what the original prints there, and does nothing wrong that the emulation detects.
3 nvidia: it runs on an NVIDIA GPU through a header layer and prints what the original prints there.
4 amd: it runs on an AMD GPU. Rungs 3 and 4 are in ``hardware.py``.

A rung that cannot be checked on this machine says "not checked". An emulation of AMD's instructions
would stand between rungs 3 and 4; it does not exist yet.
"""

from __future__ import annotations

import difflib
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from kernelwright.dialects import nvidia
from kernelwright.dialects.amdgpu import (
    HEADERS,
    KernelResources,
    compile_hip,
    compile_missing,
    stand_ins,
)
from kernelwright.dialects.simt import machine
from kernelwright.hipify import Translation
from kernelwright.hipify.warp_synchrony import in_step
from kernelwright.port.build_flags import NO_FLAGS, Flags

LIMIT_S = 60.0
HARMLESS = ("barrier-exit",)
"""Kinds of complaints that are ignored if the original causes them as well: neither NVIDIA's
barriers nor AMD's wait for threads that have returned. Races are not among them."""
_ABSENT = re.compile(r"undeclared identifier|no (member|template|type) named|unknown type name")
"""Errors that a stand-in header may cause, because it lacks parts of AMD's header."""

_TIMED = re.compile(
    r"[-+]?\d[\d.]*(?:[eE][-+]?\d+)?[ \t]*[\[(]?"
    r"(?:[mun]?s|[mu]?secs?|seconds?|[KMGT]i?B/s|[MGT]FLOPS?(?:/s)?)\b"
)
"""A number and its unit of time or of a rate, on one line."""


class RungStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Rung:
    """One rung of one file."""

    name: str
    status: RungStatus
    details: tuple[str, ...] = ()
    resources: tuple[tuple[str, KernelResources], ...] = ()
    """(target, resources) of each kernel, on the rung 'compile'."""


def lint(translation: Translation) -> Rung:
    """Rung 0: nothing is left unported."""
    left = tuple(str(finding) for finding in translation.unported)
    return Rung("lint", RungStatus.FAILED if left else RungStatus.PASSED, left)


def compiles(
    path: Path, *, targets: Sequence[str], includes: Sequence[Path], flags: Sequence[str]
) -> Rung:
    """Rung 1 of the HIP file ``path``; if it passes, it says which headers are not AMD's."""
    if missing := compile_missing():
        return Rung("compile", RungStatus.NOT_CHECKED, (missing,))
    errors: list[str] = []
    resources: list[tuple[str, KernelResources]] = []
    for target in targets:
        built = compile_hip(path, target=target, includes=tuple(includes), flags=tuple(flags))
        errors += [f"{target}: {error}" for error in built.errors]
        resources += [(target, kernel) for kernel in built.kernels]
    if errors and all(_is_absent_header(error) for error in errors):
        return Rung("compile", RungStatus.NOT_CHECKED, tuple(errors))
    ours = _said_of(stand_ins(path))
    if errors and ours and (_ABSENT.search(errors[0]) or str(HEADERS) in errors[0]):
        # later errors may be consequences of these
        return Rung("compile", RungStatus.NOT_CHECKED, (*ours, *errors))
    if errors:
        return Rung("compile", RungStatus.FAILED, tuple(errors), tuple(resources))
    return Rung("compile", RungStatus.PASSED, ours, tuple(resources))


def compiles_for_nvidia(path: Path, flags: Flags) -> Rung:
    """Rung 1 of the CUDA file ``path`` (the way back): compile it with nvcc for one
    architecture."""
    if missing := nvidia.nvcc_missing():
        return Rung("compile", RungStatus.NOT_CHECKED, (missing,))
    options = ("-c", f"-arch={nvidia.ARCH}", *(f"-D{define}" for define in flags.defines))
    with tempfile.TemporaryDirectory() as folder:
        built = nvidia.nvcc(path, Path(folder, "code.o"), flags=options, includes=flags.includes)
    if built.is_built:
        return Rung("compile", RungStatus.PASSED)
    is_absent = all(_is_absent_header(error) for error in built.errors)
    return Rung("compile", RungStatus.NOT_CHECKED if is_absent else RungStatus.FAILED, built.errors)


def _said_of(names: Sequence[str]) -> tuple[str, ...]:
    """Return one line that names all stand-ins."""
    listed = ", ".join(f"<{name}>" for name in names)
    if len(names) > 1:
        return (f"{listed} are our stand-ins, not AMD's headers",)
    return (f"{listed} is a stand-in of ours, not AMD's header",) if names else ()


def _is_absent_header(error: str) -> bool:
    """Return whether only a library's header is missing, which says nothing about the port."""
    return re.search(r"'[\w/.]+' file not found|No such file or directory", error) is not None


def emulates(
    original: str,
    ported: str,
    *,
    flags: Flags = NO_FLAGS,
    ported_flags: Flags = NO_FLAGS,
    arguments: Sequence[str] = (),
    limit_s: float = LIMIT_S,
    file: str = "ported",
) -> Rung:
    """Rung 2: run ``ported`` at both widths and compare it with ``original`` at 32 lanes.

    ``file`` is the port's name; faults in it are located as ``file:line``.

    Lines in which two runs of the original differ (times, addresses) are left out of the
    comparison. An original that cannot run here leaves the rung unchecked.
    """
    if missing := machine.emulation_missing():
        return Rung("emulate", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            program = machine.build(
                ported,
                folder=folder,
                name=file,
                includes=ported_flags.includes,
                defines=ported_flags.defines,
            )
        except machine.BuildError as error:
            return Rung("emulate", RungStatus.NOT_CHECKED, ("the port: " + str(error),))
        found = reference(original, folder, flags=flags, arguments=arguments, limit_s=limit_s)
        if isinstance(found, Rung):
            return found
        wanted, loose, habits = found
        details: list[str] = []
        for width in machine.WIDTHS:
            for schedule in machine.SCHEDULES:
                run = machine.run(
                    program, width=width, schedule=schedule, arguments=arguments, limit_s=limit_s
                )
                details += _faults(run, wanted, loose, habits)
    status = RungStatus.FAILED if details else RungStatus.PASSED
    own = tuple(f"the original too: {habit}" for habit in sorted(habits))
    return Rung("emulate", status, (*dict.fromkeys(details), *own))


def reference(
    original: str,
    folder: Path,
    *,
    flags: Flags,
    arguments: Sequence[str],
    limit_s: float,
    name: str = "emulate",
) -> tuple[str, frozenset[int], frozenset[str]] | Rung:
    """Return the original's output under the emulation, the lines in which its runs differ, and its
    harmless complaints. If it cannot be built or run here, return the rung ``name``, not checked.

    If the original relies on lanes in lockstep, they run in lockstep: otherwise the emulation runs
    them one by one.
    """
    try:
        program = machine.build(
            original,
            folder=folder,
            name="original",
            includes=flags.includes,
            defines=flags.defines,
            rewritten=in_step,
        )
    except machine.BuildError as error:
        return Rung(name, RungStatus.NOT_CHECKED, ("the original: " + str(error),))
    first, second = (machine.run(program, arguments=arguments, limit_s=limit_s) for _ in range(2))
    for run in (first, second):
        if run.exit_code:
            said = f"the original exits with {run.exit_code} here"
            return Rung(name, RungStatus.NOT_CHECKED, (said,))
    habits = frozenset(c.kind for c in first.complaints if c.kind in HARMLESS)
    return first.output, loose_lines([first.output, second.output]), habits


def loose_lines(outputs: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines in which outputs of the same program differ."""
    rows = zip(*(output.splitlines() for output in outputs), strict=False)
    return frozenset(i for i, lines in enumerate(rows) if len(set(lines)) > 1)


def _faults(
    run: machine.EmulatedRun, wanted: str, loose: frozenset[int], habits: frozenset[str]
) -> list[str]:
    where = f"{run.width} lanes, {run.schedule}"
    faults = [
        f"{where}: {c.kind} at {c.place}: {c.detail} (x{c.count})"
        for c in run.complaints
        if c.kind not in habits
    ]
    if run.exit_code:
        faults.append(f"{where}: leaves with {run.exit_code}")
    return faults + [f"{where}: {said}" for said in differences(run.output, wanted, loose)]


def differences(output: str, wanted: str, loose: frozenset[int]) -> list[str]:
    """Return the lines of ``output`` that differ from ``wanted``, except those numbered ``loose``.

    Numbers with a unit of time or of a rate are not compared.
    """
    lines, want = (_TIMED.sub("<time>", text).splitlines() for text in (output, wanted))
    if len(lines) == len(want) and all(
        a == b for i, (a, b) in enumerate(zip(lines, want, strict=True)) if i not in loose
    ):
        return []
    changed = [
        d
        for d in difflib.unified_diff(want, lines, lineterm="", n=0)
        if d[:3] not in ("---", "+++")
    ]
    return ["prints something else: " + " | ".join(changed[1:4])]

"""The ladder: what was checked of a translated file, each rung a claim of its own.

0 lint: nothing is left unported.
1 compile: the device code compiles and links for every AMD target.
2 emulate: the program runs on the CPU at 32 and 64 lanes a wave, under several schedules, prints
  what the original prints there, and does nothing wrong that the emulation sees.
3 nvidia: it runs on an NVIDIA GPU through a header layer and prints what the original prints there.
4 amd: it runs on an AMD GPU. Both are in ``hardware.py``.

A rung that cannot be climbed here says "not checked". Between 3 and 4 is the place of an emulation
of AMD's instructions, which does not exist yet.
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
)  # fmt: skip
from kernelwright.dialects.simt import machine
from kernelwright.hipify import Translation
from kernelwright.hipify.warp_synchrony import in_step
from kernelwright.port.build_flags import NO_FLAGS, Flags

LIMIT_S = 60.0
HARMLESS = ("barrier-exit",)
"""Complaints that are the program's own business where the original earns them as well: neither
NVIDIA's barriers nor AMD's wait for threads that have returned. A race is none of them."""
_ABSENT = re.compile(r"undeclared identifier|no (member|template|type) named|unknown type name")
"""Errors that a stand-in may be to blame for: it has not all that AMD's header has."""

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
    """By target, at the rung 'compile'."""


def lint(translation: Translation) -> Rung:
    """Rung 0."""
    left = tuple(str(finding) for finding in translation.unported)
    return Rung("lint", RungStatus.FAILED if left else RungStatus.PASSED, left)


def compiles(
    path: Path, *, targets: Sequence[str], includes: Sequence[Path], flags: Sequence[str]
) -> Rung:
    """Rung 1 of the HIP file ``path``; where it passes, it says which headers are not AMD's."""
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
        # what follows may come of it
        return Rung("compile", RungStatus.NOT_CHECKED, (*ours, *errors))
    if errors:
        return Rung("compile", RungStatus.FAILED, tuple(errors), tuple(resources))
    return Rung("compile", RungStatus.PASSED, ours, tuple(resources))


def compiles_for_nvidia(path: Path, flags: Flags) -> Rung:
    """Rung 1 of the CUDA file ``path``, the way back: by nvcc, for one architecture."""
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
    """One line about all stand-ins."""
    listed = ", ".join(f"<{name}>" for name in names)
    if len(names) > 1:
        return (f"{listed} are stand-ins of ours, not AMD's headers",)
    return (f"{listed} is a stand-in of ours, not AMD's header",) if names else ()


def _is_absent_header(error: str) -> bool:
    """Whether a library's header is all that is wanting: that says nothing about the port."""
    return re.search(r"'[\w/.]+' file not found|No such file or directory", error) is not None


def emulates(
    original: str, ported: str, *, flags: Flags = NO_FLAGS, ported_flags: Flags = NO_FLAGS,
    arguments: Sequence[str] = (), limit_s: float = LIMIT_S, file: str = "ported",
) -> Rung:  # fmt: skip
    """Rung 2: ``ported`` at both widths against ``original`` at 32 lanes.

    ``file`` is the port's name: what is wrong in it is placed there, ``file:line``.

    Lines in which two runs of the original differ (times, addresses) are left out of the
    comparison. An original that cannot be run here leaves the rung unchecked.
    """
    if missing := machine.emulation_missing():
        return Rung("emulate", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        try:
            program = machine.build(
                ported, folder=room, name=file, includes=ported_flags.includes,
                defines=ported_flags.defines,
            )  # fmt: skip
        except machine.BuildError as error:
            return Rung("emulate", RungStatus.NOT_CHECKED, ("the port: " + str(error),))
        found = reference(original, room, flags=flags, arguments=arguments, limit_s=limit_s)
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
    original: str, room: Path, *, flags: Flags, arguments: Sequence[str], limit_s: float,
    name: str = "emulate",
) -> tuple[str, frozenset[int], frozenset[str]] | Rung:  # fmt: skip
    """What the original prints under the emulation, the lines in which it differs from itself, and
    what it does wrong that no GPU minds.

    Where it trusts that lanes run in lockstep they do: the emulation's own run one by one.
    The rung ``name``, not checked, where it cannot be built or run here.
    """
    try:
        program = machine.build(
            original, folder=room, name="original", includes=flags.includes,
            defines=flags.defines, rewritten=in_step,
        )  # fmt: skip
    except machine.BuildError as error:
        return Rung(name, RungStatus.NOT_CHECKED, ("the original: " + str(error),))
    first, second = (machine.run(program, arguments=arguments, limit_s=limit_s) for _ in range(2))
    for run in (first, second):
        if run.exit_code:
            said = f"the original leaves with {run.exit_code} here"
            return Rung(name, RungStatus.NOT_CHECKED, (said,))
    habits = frozenset(c.kind for c in first.complaints if c.kind in HARMLESS)
    return first.output, loose_lines([first.output, second.output]), habits


def loose_lines(outputs: Sequence[str]) -> frozenset[int]:
    """The numbers of the lines in which outputs of the same program differ."""
    rows = zip(*(output.splitlines() for output in outputs), strict=False)
    return frozenset(i for i, lines in enumerate(rows) if len(set(lines)) > 1)


def _faults(
    run: machine.Run, wanted: str, loose: frozenset[int], habits: frozenset[str]
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
    """What ``output`` prints otherwise than ``wanted``, the lines numbered ``loose`` aside.

    Numbers with a unit of time or of a rate are not compared.
    """
    lines, want = (_TIMED.sub("<time>", text).splitlines() for text in (output, wanted))
    if len(lines) == len(want) and all(
        a == b for i, (a, b) in enumerate(zip(lines, want, strict=True)) if i not in loose
    ):
        return []
    changed = [d for d in difflib.unified_diff(want, lines, lineterm="", n=0)
               if d[:3] not in ("---", "+++")]  # fmt: skip
    return ["prints something else: " + " | ".join(changed[1:4])]

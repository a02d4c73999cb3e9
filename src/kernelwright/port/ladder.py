"""The ladder: the checks of a translated file, each rung a claim of its own.

0 lint: nothing is left unported.
1 compile: the device code compiles and links for every AMD target.
2 emulate: the program runs on the CPU at 32 and 64 lanes per wave, under several schedules, leaves
  what the original leaves there, and does nothing wrong that the emulation detects.
3 nvidia: it runs on an NVIDIA GPU through a header layer and prints what the original prints there.
4 amd: it runs on an AMD GPU. Rung 2 is in ``emulated.py``, rungs 3 and 4 are in ``hardware.py``.
5 isa: its kernels, compiled for an AMD GPU, run instruction by instruction on the CPU, and it
  leaves what the original leaves. It says less than rung 4 and more than rung 2: it is in
  ``instructions.py``.

A rung that cannot be checked on this machine says "not checked".
"""

from __future__ import annotations

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
    link_hip,
    stand_ins,
)
from kernelwright.hipify import Translation
from kernelwright.port.build_flags import Flags

_ELSEWHERE = re.compile(r"lld: error: undefined \w* ?symbol: ([\w:]+)")
"""A function or variable of the device that another unit defines."""
_ABSENT = re.compile(r"undeclared identifier|no (member|template|type) named|unknown type name")
"""Errors that a stand-in header may cause, because it lacks parts of AMD's header."""


class RungStatus(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    RAN = "ran, nothing to compare"
    """The program ran without faults, and left no value that kernels computed."""
    AS_ORIGINAL = "as faulty as the original"
    """The program agrees with the original except where that is at fault in the same way."""
    NOT_CHECKED = "not checked"


@dataclass(frozen=True)
class Rung:
    """One rung of one file."""

    name: str
    status: RungStatus
    details: tuple[str, ...] = ()
    resources: tuple[tuple[str, KernelResources], ...] = ()
    """(target, resources) of each kernel, on the rung 'compile'."""
    values: tuple[tuple[str, int], ...] = ()
    """(place, number of compared values) on rungs that run programs: the output or a file."""
    units: tuple[str, ...] = ()
    """The units of the program that was run."""


def lint(translation: Translation, *, is_build: bool = False) -> Rung:
    """Rung 0: nothing is left unported; it is called 'build' for a build system's file."""
    left = tuple(str(finding) for finding in translation.unported)
    status = RungStatus.FAILED if left else RungStatus.PASSED
    return Rung("build" if is_build else "lint", status, left)


@dataclass(frozen=True)
class DeviceUnit:
    """A HIP file, and how it is compiled."""

    path: Path
    includes: tuple[Path, ...] = ()
    defines: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return (*(f"-I{path}" for path in self.includes), *(f"-D{name}" for name in self.defines))


def compiles(
    unit: DeviceUnit, *, targets: Sequence[str], others: Sequence[DeviceUnit] = ()
) -> Rung:
    """Rung 1 of a HIP file; if it passes, it says which headers are not AMD's.

    A file whose device code calls that of ``others`` is compiled and linked with them, as
    ``-fgpu-rdc`` does.
    """
    if missing := compile_missing():
        return Rung("compile", RungStatus.NOT_CHECKED, (missing,))
    path = unit.path
    errors: list[str] = []
    resources: list[tuple[str, KernelResources]] = []
    for target in targets:
        built = compile_hip(path, target=target, flags=unit.words)
        linked = [unit]
        while added := _defining(built.errors, [each for each in others if each not in linked]):
            linked += added
            built = link_hip([(each.path, each.words) for each in linked], target=target)
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


def _defining(errors: Sequence[str], others: Sequence[DeviceUnit]) -> list[DeviceUnit]:
    """Return the units that have the names which the linker misses, if it complains of nothing
    else."""
    names = {found[1].rpartition("::")[2] for e in errors if (found := _ELSEWHERE.search(e))}
    if not names or any("error:" in e and "lld" not in e and "link" not in e for e in errors):
        return []
    words = re.compile(rf"\b({'|'.join(map(re.escape, sorted(names)))})\b")
    return [unit for unit in others if words.search(unit.path.read_text(errors="replace"))]


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

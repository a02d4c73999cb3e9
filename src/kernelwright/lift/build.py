"""Lifted programs built: for AMD GPUs by clang, and as twins that run on this CPU."""

from __future__ import annotations

import functools
import hashlib
from dataclasses import dataclass
from pathlib import Path

from kernelwright.dialects.amdgpu import clang_version, find_clang
from kernelwright.dialects.kept import kept_folder
from kernelwright.dialects.simt import machine
from kernelwright.lift.program import HEADERS, LiftedProgram

WAVES = {"gfx9": 64}
"""The lanes of a wave by the beginning of a target's name; others have 32."""
C_FLAGS = ("-x", "c", "-std=gnu17", "-w", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing")


def build_missing() -> str | None:
    """Return what this machine lacks to build for AMD GPUs; None if nothing."""
    if find_clang() is None:
        return "no clang++ on PATH; run: apt-get install clang lld (20 or newer)"
    return None


@dataclass(frozen=True)
class Assembled:
    """A lifted program for one AMD target."""

    assembly: str
    code_object: Path


def assemble(program: LiftedProgram, target: str, folder: Path) -> Assembled:
    """Write the assembly and the code object of a program for ``target`` to ``folder``.

    Raises:
        BuildError: clang refuses it.
    """
    source, text, built = (folder / f"{program.name}{end}" for end in (".c", ".s", ".co"))
    source.write_text(program.c("amd.h"))
    wave = next((n for start, n in WAVES.items() if target.startswith(start)), 32)
    for_target = ("--target=amdgcn-amd-amdhsa", f"-mcpu={target}", "-nogpulib")
    _clang(*C_FLAGS, *for_target, f"-DWAVE={wave}", "-O2", "-S", str(source), "-o", str(text))
    _clang("-x", "assembler", *for_target, str(text), "-o", str(built))
    return Assembled(text.read_text(), built)


def twin(program: LiftedProgram, folder: Path) -> tuple[Path, Path]:
    """Build a program's twin in ``folder``: its kernels, and the functions that they call.

    Raises:
        BuildError: clang refuses it.
    """
    source, kernels = folder / f"{program.name}-twin.c", folder / f"{program.name}-twin.o"
    source.write_text(program.c("twin.h"))
    flags = [flag for flag in machine.DEVICE_FLAGS if flag != "-fdeclspec"]
    _clang(*C_FLAGS, *flags, "-fno-builtin", "-c", str(source), "-o", str(kernels))
    return kernels, _twin_functions()


@functools.cache
def _twin_functions() -> Path:
    """Return the object of the functions that twins call, built once per compiler and source."""
    source, interface = HEADERS / "twin.cpp", machine.HEADERS / "simt" / "core.h"
    texts = [source.read_bytes(), interface.read_bytes(), clang_version(_found()).encode()]

    def make(folder: Path) -> None:
        flags = ("-std=c++17", *machine.DEVICE_FLAGS, f"-I{machine.HEADERS}")
        _clang(*flags, "-c", str(source), "-o", str(folder / "twin.o"))

    version = hashlib.sha256(b"".join(texts)).hexdigest()
    return kept_folder("twin", version, make) / "twin.o"


def _clang(*words: str) -> None:
    machine.compile_with(_found(), *words)


def _found() -> str:
    clang = find_clang()
    assert clang is not None
    return clang

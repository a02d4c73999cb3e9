"""Lifted programs built: for AMD GPUs by clang, and as twins that run on this CPU."""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from kernelwright.dialects.amdgpu import clang_version, find_clang
from kernelwright.dialects.kept import kept_folder
from kernelwright.dialects.simt import machine
from kernelwright.lift.program import HEADERS, LiftedProgram

WAVES = {"gfx9": 64}
"""The lanes of a wave by the beginning of a target's name; others have 32."""
C_FLAGS = ("-x", "c", "-std=gnu17", "-w", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing")

OLDEST_CLANG = 22
"""The oldest clang that the headers were compiled with: older ones ignore ``device_kernel``."""
ALIGNED = 16
"""The alignment of the kernels' shared memory, in bytes; amd.h declares it."""


def build_missing() -> str | None:
    """Return what this machine lacks to build for AMD GPUs; None if nothing."""
    clang = find_clang()
    if clang is None:
        return f"no clang++ on PATH; run: apt-get install clang lld ({OLDEST_CLANG} or newer)"
    version = clang_version(clang)
    found = re.search(r"version (\d+)", version)
    if found is None or int(found[1]) < OLDEST_CLANG:
        return f"{version or clang} is too old; install clang and lld, {OLDEST_CLANG} or newer"
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
    text.write_text(with_shared_bytes(text.read_text(), program.shared_bytes))
    _clang("-x", "assembler", *for_target, str(text), "-o", str(built))
    return Assembled(text.read_text(), built)


def with_shared_bytes(assembly: str, shared_bytes: Mapping[str, int]) -> str:
    """Return AMD assembly whose kernels have this much static shared memory besides clang's own.

    The kernels' shared memory is one array of unknown size for clang, at the end of its own.
    """
    for kernel, size in shared_bytes.items():
        name = re.escape(kernel)
        for fixed in (
            rf"(\.amdhsa_kernel {name}\n\s*\.amdhsa_group_segment_fixed_size )(\d+)",
            rf"(\.group_segment_fixed_size: )(\d+)(?=(?:\n(?!  - ).*)*?\n    \.name: +{name}\n)",
        ):
            assembly = re.sub(fixed, partial(_enlarged, size), assembly)
    return assembly


def _enlarged(size: int, found: re.Match[str]) -> str:
    return f"{found[1]}{-(-int(found[2]) // ALIGNED) * ALIGNED + size}"


def twin(program: LiftedProgram, folder: Path) -> tuple[Path, Path]:
    """Build a program's twin in ``folder``: its kernels, and the functions that they call.

    Raises:
        BuildError: clang refuses it.
    """
    source, kernels = folder / f"{program.name}-twin.c", folder / f"{program.name}-twin.o"
    source.write_text(program.c("twin.h"))
    flags = [flag for flag in machine.DEVICE_FLAGS if flag != "-fdeclspec"]
    _clang(*C_FLAGS, *flags, "-fno-builtin", "-c", str(source), "-o", str(kernels))
    return kernels, twin_functions()


@functools.cache
def twin_functions() -> Path:
    """Return the object of the functions that twins call, built once per compiler and source."""
    source = HEADERS / "twin.cpp"
    read = (source, HEADERS / "words.h", machine.HEADERS / "simt" / "core.h")
    texts = [*(path.read_bytes() for path in read), clang_version(_found()).encode()]

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

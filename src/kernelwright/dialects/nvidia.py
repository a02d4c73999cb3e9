"""CUDA programs built with nvcc, and their assembly; no GPU is needed."""

from __future__ import annotations

import ctypes
import functools
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import DialectError, UsageError

ARCH = "sm_90"
"""The architecture of the assembly if there is no GPU to ask."""
FLAGS = ("-std=c++17", "-w", "-O2", "--expt-relaxed-constexpr", "--extended-lambda")
_OF_OTHERS = re.compile(r"\bextern|undefined reference|separate compilation", re.IGNORECASE)
"""Words in the errors of ptxas, nvlink and the host's linker about device code that another unit
defines."""


@dataclass(frozen=True)
class Built:
    """The result of one call of nvcc."""

    is_built: bool
    errors: tuple[str, ...] = ()


@functools.cache
def find_nvcc() -> str | None:
    """Return nvcc on PATH, or in the toolkit that CUDA_HOME names."""
    home = os.environ.get("CUDA_HOME") or "/usr/local/cuda"
    inside = Path(home, "bin", "nvcc")
    return shutil.which("nvcc") or (str(inside) if inside.exists() else None)


@functools.cache
def nvcc_missing() -> str | None:
    """Return what this machine lacks to build CUDA programs, and how to get it; None if nothing."""
    if find_nvcc() is None:
        return "no nvcc on PATH; install the CUDA toolkit, or set CUDA_HOME"
    if shutil.which("g++") is None:
        return "nvcc needs g++; run: apt-get install g++"
    return None


def nvcc(source: Path, out: Path, *, flags: Sequence[str], includes: Sequence[Path] = ()) -> Built:
    """Compile ``source`` to ``out`` with nvcc. Call it only if nothing is missing."""
    found = find_nvcc()
    assert found is not None
    words = [*FLAGS, *(f"-I{path}" for path in includes), *flags, "-x", "cu", str(source)]
    return _called(found, *words, "-o", str(out))


def _called(*command: str) -> Built:
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode == 0:
        return Built(True)
    said = run.stderr.splitlines() or run.stdout.splitlines()
    errors = [line for line in said if re.search(r"\berror\b|undefined reference", line)]
    return Built(False, tuple(errors or said[:5]))


def nvcc_program(
    units: Sequence[tuple[Path, Sequence[str]]], out: Path, *, flags: Sequence[str]
) -> Built:
    """Compile units, each a source and its own flags, and link them to the program ``out``.

    Units of plain C are compiled as C. Device code is relocatable if units need that of others.
    """
    built = Built(False)
    for also in ((), ("-rdc=true",)):
        built = _linked(units, out, (*flags, *also))
        if built.is_built or not any(_OF_OTHERS.search(error) for error in built.errors):
            break
    return built


def _linked(units: Sequence[tuple[Path, Sequence[str]]], out: Path, flags: Sequence[str]) -> Built:
    found = find_nvcc()
    assert found is not None
    with tempfile.TemporaryDirectory() as folder:
        objects = []
        for number, (source, own) in enumerate(units):
            object_ = Path(folder, f"{number}.o")
            kind = () if source.suffix == ".c" else ("-x", "cu")
            words = ("-O2", "-w") if source.suffix == ".c" else FLAGS
            built = _called(
                found, *words, *own, *flags, *kind, "-c", str(source), "-o", str(object_)
            )
            if not built.is_built:
                return built
            objects.append(str(object_))
        return _called(found, *flags, *objects, "-o", str(out))


def assembly(
    source: Path, *, arch: str = ARCH, includes: Sequence[Path] = ()
) -> tuple[tuple[str, str], ...]:
    """Return the device code of a CUDA file: ('ptx', text) and ('sass', text), as far as tools
    exist.

    Empty if nvcc is missing or refuses the file.
    """
    if nvcc_missing() is not None:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        ptx, cubin = Path(folder, "code.ptx"), Path(folder, "code.cubin")
        if not nvcc(source, ptx, flags=("-ptx", f"-arch={arch}"), includes=includes).is_built:
            return ()
        texts = [("ptx", ptx.read_text())]
        ptxas, nvdisasm = tool("ptxas"), tool("nvdisasm")
        if ptxas and nvdisasm and _runs(ptxas, f"-arch={arch}", str(ptx), "-o", str(cubin)):
            listing = _runs(nvdisasm, "-c", str(cubin))
            texts += [("sass", listing)] if listing else []
        return tuple(texts)


def assemble_ptx(ptx: Path, cubin: Path) -> None:
    """Make machine code of a PTX file, for the architecture that it names.

    Raises:
        DialectError: there is no ptxas.
        UsageError: ptxas refuses the file.
    """
    ptxas = tool("ptxas")
    if ptxas is None:
        missing = 'no ptxas; run: pip install "kernelwright[triton]", or install CUDA'
        raise DialectError.of_missing("PTX cannot be assembled", missing)
    named = re.search(r"^\s*\.target\s+(sm_\w+)", ptx.read_text(errors="replace"), re.MULTILINE)
    command = [ptxas, f"-arch={named[1] if named else ARCH}", str(ptx), "-o", str(cubin)]
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[0]
        raise UsageError("ptxas refuses this file", seen=last, do="give PTX that ptxas assembles")


def _runs(*command: str) -> str:
    """Return a command's output, or 'done' if it prints nothing; empty if it fails."""
    run = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    return "" if run.returncode else run.stdout or "done"


@functools.cache
def tool(name: str) -> str | None:
    """Return a program of the CUDA toolkit: from PATH, or from the Triton wheel, which has some."""
    found = shutil.which(name)
    spec = importlib.util.find_spec("triton")
    if found is None and spec is not None and spec.origin is not None:
        inside = Path(spec.origin).parent / "backends/nvidia/bin" / name
        found = str(inside) if inside.exists() else None
    return found


@functools.cache
def gpu_missing() -> str | None:
    """Return why no NVIDIA GPU can be used; None if one can."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return "no NVIDIA driver; run where there is an NVIDIA GPU"
    count = ctypes.c_int(0)
    failed = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    return "the NVIDIA driver sees no GPU" if failed or count.value == 0 else None

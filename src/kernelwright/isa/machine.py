"""The emulator's library, built once per compiler and version of its source, and called from
Python."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import platform
from collections.abc import Sequence
from pathlib import Path

from kernelwright.core.errors import DialectError, KernelwrightError
from kernelwright.dialects.amdgpu import clang_version, find_clang
from kernelwright.dialects.kept import kept_folder
from kernelwright.dialects.simt.machine import compile_with
from kernelwright.isa.listing import find_objdump

SOURCES = Path(__file__).parent / "runtime"
LIBRARY = "libkernelwright_isa.so"
_FLAGS = ("-std=c++20", "-O2", "-fPIC", "-ffp-contract=off", "-mavx2", "-mfma", "-mf16c")
_NEEDED = ("avx2", "fma", "f16c")


class LaunchError(KernelwrightError):
    """A launch ended because of what an instruction did; the message begins with the kind."""


@functools.cache
def isa_missing() -> str | None:
    """Return what this machine lacks to emulate AMD's instructions; None if nothing."""
    if platform.system() != "Linux" or platform.machine() != "x86_64":
        return (
            f"the emulator of AMD's instructions runs on x86-64 Linux, not on {platform.machine()}"
        )
    flags = Path("/proc/cpuinfo").read_text().split()
    if absent := [name for name in _NEEDED if name not in flags]:
        return f"this CPU has no {', '.join(absent)}"
    if find_clang() is None:
        return "no clang++ on PATH; run: apt-get install clang lld llvm"
    if find_objdump() is None:
        return "no llvm-objdump on PATH; run: apt-get install llvm"
    return None


@functools.cache
def library() -> Path:
    """Return the emulator's shared library.

    Raises:
        DialectError: this machine cannot build or run it.
    """
    if missing := isa_missing():
        raise DialectError.of_missing("AMD's instructions cannot be emulated", missing)
    clang = find_clang()
    assert clang is not None
    texts = [path.read_bytes() for path in sorted(SOURCES.iterdir()) if path.is_file()]
    version = hashlib.sha256(b"".join([*texts, f"{clang} {clang_version(clang)}".encode()]))

    def make(folder: Path) -> None:
        objects = []
        for source in sorted(SOURCES.glob("*.cpp")):
            objects.append(str(folder / f"{source.stem}.o"))
            compile_with(clang, *_FLAGS, "-c", str(source), "-o", objects[-1])
        compile_with(clang, "-shared", *objects, "-o", str(folder / LIBRARY))

    return kept_folder("isa", version.hexdigest(), make) / LIBRARY


class Emulator:
    """One code object, loaded."""

    def __init__(self, listing: Path) -> None:
        self._library = _bound()
        self._object = self._library.isa_load(str(listing).encode())
        if not self._object:
            raise LaunchError(self._library.isa_error().decode())

    def launch(
        self,
        kernel: str,
        *,
        grid: Sequence[int],
        block: Sequence[int],
        arguments: bytes = b"",
        lds_bytes: int = 0,
        is_cooperative: bool = False,
    ) -> None:
        """Run a kernel to its end; ``arguments`` are packed as HIP packs them.

        Raises:
            LaunchError: the emulator does not know an instruction, or one did what none may do.
        """
        shape = ctypes.c_uint * 3
        failed = self._library.isa_launch(
            self._object,
            kernel.encode(),
            shape(*grid),
            shape(*block),
            lds_bytes,
            arguments,
            len(arguments),
            int(is_cooperative),
        )
        if failed:
            raise LaunchError(self._library.isa_error().decode())

    def executed(self, kernel: str) -> int:
        """Return how many instructions the waves of a kernel have executed, in all launches."""
        return int(self._library.isa_executed(self._object, kernel.encode()))

    def add_memory(self, address: int, n_bytes: int) -> None:
        """Let kernels access ``n_bytes`` bytes at an address of this process."""
        self._library.isa_add_memory(address, n_bytes)

    def drop_memory(self, address: int) -> None:
        self._library.isa_drop_memory(address)

    @property
    def unknown(self) -> tuple[str, ...]:
        """The texts of the object's instructions that are emulator gaps."""
        return tuple(self._library.isa_unknown(self._object).decode().splitlines())

    def close(self) -> None:
        self._library.isa_unload(self._object)
        self._object = None


@functools.cache
def _bound() -> ctypes.CDLL:
    bound = ctypes.CDLL(str(library()))
    pointer, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
    shape, size = ctypes.POINTER(ctypes.c_uint), ctypes.c_size_t
    bound.isa_load.restype, bound.isa_load.argtypes = pointer, [text]
    bound.isa_unload.argtypes = [pointer]
    bound.isa_launch.restype = number
    bound.isa_launch.argtypes = [pointer, text, shape, shape, ctypes.c_uint, text, size, number]
    bound.isa_error.restype = bound.isa_unknown.restype = text
    bound.isa_unknown.argtypes = [pointer]
    bound.isa_executed.restype, bound.isa_executed.argtypes = ctypes.c_ulonglong, [pointer, text]
    bound.isa_add_memory.argtypes, bound.isa_drop_memory.argtypes = [pointer, size], [pointer]
    return bound

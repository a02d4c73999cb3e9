"""A program's kernels, lifted: from a cubin, a listing, or a file that holds cubins."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.errors import DialectError, UsageError
from kernelwright.dialects.nvidia import tool
from kernelwright.lift.banks import KernelBanks, declared
from kernelwright.lift.cubin import Cubin, KernelFacts, read_cubin
from kernelwright.lift.kernel import LiftedKernel, Unlifted, lift_kernel
from kernelwright.lift.sass import read_sass

HEADERS = Path(__file__).parent / "headers"
ELF = b"\x7fELF"
CUDA_MACHINE = 190
"""The number of NVIDIA's machines in an ELF file. Source: the ELF registry, EM_CUDA."""
PARAMETER_BASES = {"sm_90": 0x210}
USUAL_BASE = 0x160
"""Where arguments begin in bank 0, for a listing without its cubin."""
NEWEST_ARCH = 90
"""The newest architecture whose place of arguments is known."""


@dataclass(frozen=True)
class LiftedProgram:
    """The kernels of one cubin or listing as C."""

    name: str
    arch: str
    sass: str
    """The listing that findings and compilers' messages count lines in."""
    kernels: tuple[LiftedKernel, ...]
    variables: str
    """Definitions of the program's variables, in C."""
    shared_bytes: dict[str, int]
    """Static shared memory of each kernel."""

    @property
    def unlifted(self) -> tuple[Unlifted, ...]:
        return tuple(found for kernel in self.kernels for found in kernel.unlifted)

    @property
    def lifted(self) -> tuple[LiftedKernel, ...]:
        return tuple(kernel for kernel in self.kernels if kernel.c)

    def c(self, header: str) -> str:
        """Return the program for one machine: ``amd.h`` or ``twin.h``."""
        prefix = "lifted_##name" if header == "twin.h" else "name"
        head = (
            f'#include "{HEADERS / header}"\n#include "{HEADERS / "sass.h"}"\n'
            f"#define NAMED(name) {prefix}\n"
        )
        return head + self.variables + "\n" + "\n".join(kernel.c for kernel in self.lifted)


def disassembly_missing() -> str | None:
    """Return what this machine lacks to list a cubin; None if nothing."""
    if tool("cuobjdump") is None or tool("nvdisasm") is None:
        return 'no cuobjdump and nvdisasm; run: pip install "kernelwright[triton]", or install CUDA'
    return None


def lift(path: Path) -> LiftedProgram:
    """Lift a cubin, a listing of SASS, or an executable or library with one cubin.

    Raises:
        UsageError: the file is none of these, or holds no code of a GPU.
        DialectError: a tool that reads it is missing.
    """
    data = path.read_bytes()
    if not data.startswith(ELF):
        return lift_text(data.decode(errors="replace"), Cubin(), name=path.stem)
    if _machine(data) != CUDA_MACHINE:
        data = _embedded(path)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "code.cubin")
        cubin.write_bytes(data)
        text = _listed("-sass", str(cubin))
    return lift_text(text, read_cubin(data), name=path.stem)


def lift_text(text: str, cubin: Cubin, *, name: str) -> LiftedProgram:
    """Lift a listing; without its cubin, arguments are one block and variables are unknown.

    Raises:
        UsageError: the text has no instructions.
    """
    listing = read_sass(text)
    if not listing.kernels:
        raise UsageError(
            "no SASS in this file",
            seen=text.strip().splitlines()[0][:60] if text.strip() else "an empty file",
            do="give what cuobjdump -sass or nvdisasm -c prints",
        )
    if not cubin.kernels and listing.arch and int(listing.arch[3:]) > NEWEST_ARCH:
        raise UsageError(
            "where arguments begin on this architecture is unknown",
            seen=listing.arch,
            do="give the cubin, which says it",
        )
    kernels = []
    base = PARAMETER_BASES.get(listing.arch, USUAL_BASE)
    for kernel in listing.kernels:
        facts = cubin.kernels.get(kernel.name) or KernelFacts(parameter_base=base)
        kernels.append(lift_kernel(kernel, KernelBanks(cubin, facts), file=f"{name}.sass"))
    return LiftedProgram(
        name,
        listing.arch,
        text,
        tuple(kernels),
        "\n".join(declared(variable) for variable in cubin.variables),
        {name: facts.shared_bytes for name, facts in cubin.kernels.items()},
    )


def _machine(data: bytes) -> int:
    return int.from_bytes(data[18:20], "little")


def _embedded(path: Path) -> bytes:
    """Return the one cubin of an executable or library."""
    with tempfile.TemporaryDirectory() as folder:
        _listed("-xelf", "all", str(path.resolve()), folder=folder)
        found = sorted(Path(folder).glob("*.cubin"))
        if not found:
            raise UsageError(
                "no machine code of an NVIDIA GPU in this file",
                seen=str(path),
                do="build it with -arch=sm_80, or give a cubin",
            )
        if len(found) > 1:
            raise UsageError(
                f"this file holds {len(found)} cubins",
                seen=", ".join(each.name for each in found[:4]),
                do="extract one with cuobjdump -xelf NAME, and give that",
            )
        return found[0].read_bytes()


def _listed(*words: str, folder: str | None = None) -> str:
    if missing := disassembly_missing():
        raise DialectError.of_missing("NVIDIA's machine code cannot be read", missing)
    command = [str(tool("cuobjdump")), *words]
    run = subprocess.run(
        command, capture_output=True, text=True, errors="replace", check=False, cwd=folder
    )
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no message"])[-1]
        raise UsageError("cuobjdump cannot read this file", seen=last, do="give a cubin")
    return run.stdout

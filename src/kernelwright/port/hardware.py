"""Rungs 3 and 4: the port runs on a real GPU, beside the original."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from kernelwright.core.secrets import open_environment
from kernelwright.dialects import amdgpu, nvidia
from kernelwright.dialects.simt import machine
from kernelwright.port.build_flags import Flags
from kernelwright.port.compared import (
    COPIES,
    MEMORY,
    Left,
    counted,
    ended,
    faults_of,
    snapshot,
    workplace,
    written_since,
)
from kernelwright.port.emulated import NO_OPTIONS, RunOptions, reference
from kernelwright.port.exact import read_exact
from kernelwright.port.ladder import DeviceUnit, Rung, RungStatus
from kernelwright.port.layer import layer
from kernelwright.port.programs import Program, Unit

LIBRARIES = ("cublas", "cublasLt", "cusparse", "cufft", "curand", "cusolver", "nvrtc")
"""CUDA's libraries whose headers begin with their own names."""
DROPPED = tuple(
    f"-DcudaThread{old}=cudaDevice{new}"
    for old, new in (
        ("Synchronize", "Synchronize"), ("Exit", "Reset"), ("SetLimit", "SetLimit"),
        ("GetLimit", "GetLimit"), ("SetCacheConfig", "SetCacheConfig"),
    )
)  # fmt: skip
"""Names of the original that CUDA 13 has dropped, as their successors. Source: CUDA 12 runtime API,
"Thread Management [DEPRECATED]"."""
N_ORIGINAL = 3
"""Number of runs of the original; lines in which they differ (times, addresses) are not
compared."""
N_AGAIN = 5
"""Number of further runs of it if the port prints something else: sums by atomics vary between
runs."""


@dataclass(frozen=True)
class HardwareRun:
    """A program and its port, unit by unit, and how they are run; main functions come first."""

    original: tuple[DeviceUnit, ...]
    ported: tuple[DeviceUnit, ...]
    running: RunOptions = NO_OPTIONS


def runs_on_nvidia(program: HardwareRun) -> Rung:
    """Rung 3: build both with nvcc, the port through the header layer, and run them on this
    machine's GPU.

    The rung passes if both exit alike and print the same, except for lines in which two runs of the
    original differ. Waves there have 32 lanes, so this says nothing about 64. If there is nvcc but
    no GPU, the rung is not checked, and says whether the port compiles through the layer. It is not
    checked either if the original itself does not exit with 0.
    """
    if missing := nvidia.nvcc_missing():
        return Rung("nvidia", RungStatus.NOT_CHECKED, (missing,))
    gpu_missing = nvidia.gpu_missing()
    arch = f"-arch={'native' if gpu_missing is None else nvidia.ARCH}"
    flags = (arch, *_libraries(program.original))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        first, second = folder / "original", folder / "port"
        originals = [(unit.path, (*DROPPED, *unit.words)) for unit in program.original]
        before = nvidia.nvcc_program(originals, first, flags=flags)
        if not before.is_built:
            why = tuple(f"the original: {error}" for error in before.errors[:3])
            return Rung("nvidia", RungStatus.NOT_CHECKED, why)
        ports = [(unit.path, (f"-I{layer()}", *unit.words)) for unit in program.ported]
        after = nvidia.nvcc_program(ports, second, flags=flags)
        if not after.is_built:
            return Rung("nvidia", RungStatus.FAILED, tuple(after.errors[:5]))
        if gpu_missing is not None:
            said = f"{gpu_missing}; the port compiles through the header layer"
            return Rung("nvidia", RungStatus.NOT_CHECKED, (said,))
        before_runs = [_ran(first, program.running, folder) for _ in range(N_ORIGINAL)]
        if code := before_runs[0].exit_code:
            said = ended(code, before_runs[0].errors, program.running.limit_s)
            return Rung("nvidia", RungStatus.NOT_CHECKED, (f"the original {said}",))
        after_run = _ran(second, program.running, folder)
        rung = _compared("nvidia", before_runs, after_run, program)
        if rung.status is RungStatus.FAILED and not after_run.exit_code:
            again = [_ran(first, program.running, folder) for _ in range(N_AGAIN)]
            before_runs += [run for run in again if not run.exit_code]
            rung = _compared("nvidia", before_runs, after_run, program)
        return rung


def _libraries(units: Sequence[DeviceUnit]) -> tuple[str, ...]:
    """Return the options for CUDA's libraries and OpenMP, by the headers that the units include."""
    texts = (unit.path.read_text(errors="replace") for unit in units)
    included = [p for text in texts for p in re.findall(r"#\s*include\s*[<\"]([\w/.]+)", text)]
    found = [name for name in LIBRARIES if any(path.startswith(name) for path in included)]
    openmp = ("-Xcompiler", "-fopenmp") if "omp.h" in included else ()
    return (*(f"-l{name}" for name in found), *openmp)


def _compared(name: str, before: Sequence[Left], after: Left, program: HardwareRun) -> Rung:
    """Compare what the port left with what the original's runs left."""
    details = faults_of(after, before, program.running.limit_s)
    values = tuple(counted(before, None).items())
    status = RungStatus.PASSED if values else RungStatus.RAN
    status = RungStatus.FAILED if details else status
    units = tuple(unit.path.name for unit in program.ported)
    return Rung(name, status, tuple(details), values=values, units=units)


def runs_on_amd(program: HardwareRun) -> Rung:
    """Rung 4: build with hipcc, run on this machine's AMD GPU, and compare with the original's
    output.

    The original cannot run there: its output is that of the emulation at 32 lanes.
    """
    if missing := amdgpu.gpu_missing() or amdgpu.hipcc_missing():
        return Rung("amd", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        units = [
            Unit(u.path.name, read_exact(u.path), Flags(u.includes, u.defines))
            for u in program.original
        ]
        wanted = reference(Program(units[0], tuple(units[1:])), folder, program.running)
        if isinstance(wanted, str):
            return Rung("amd", RungStatus.NOT_CHECKED, (f"the original {wanted}",))
        if errors := _hipcc(program.ported, folder / "port"):
            return Rung("amd", RungStatus.FAILED, errors)
        after = _ran(folder / "port", program.running, folder)
    rung = _compared("amd", wanted.runs, after, program)
    values = tuple((place, n) for place, n in wanted.values if place not in (COPIES, MEMORY))
    is_empty = rung.status is not RungStatus.FAILED and not values
    return replace(rung, values=values, status=RungStatus.RAN if is_empty else rung.status)


def _hipcc(units: Sequence[DeviceUnit], out: Path) -> tuple[str, ...]:
    """Build a program with hipcc; return its errors, or nothing if there are none."""
    also = ("-fgpu-rdc",) if len(units) > 1 else ()
    objects = [f"{out}.{number}.o" for number in range(len(units))]
    commands = [
        ["hipcc", "-O2", "-w", *also, *unit.words, "-c", str(unit.path), "-o", object_]
        for unit, object_ in zip(units, objects, strict=True)
    ]
    for command in [*commands, ["hipcc", *also, *objects, "-o", str(out)]]:
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            return tuple(line for line in built.stderr.splitlines() if "error:" in line)[:5]
    return ()


def _ran(built: Path, options: RunOptions, folder: Path) -> Left:
    """Run a program in a copy of its folder, and return what it left."""
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        place = workplace(options.folder, Path(scratch, "run"))
        before = snapshot(place)
        try:
            done = subprocess.run(
                ["program", *options.arguments],
                executable=built,
                cwd=place,
                env=open_environment(),
                input=options.stdin,
                capture_output=True,
                timeout=options.limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Left(machine.LATE, "")
        files = dict(written_since(before, place, options.compare))
    printed, errors = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return Left(done.returncode, printed, files, errors)

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
from kernelwright.port.ladder import Rung, RungStatus
from kernelwright.port.layer import layer
from kernelwright.port.programs import Program

LIBRARIES = ("cublas", "cublasLt", "cusparse", "cufft", "curand", "cusolver", "nvrtc")
"""CUDA's libraries whose headers begin with their own names."""
N_ORIGINAL = 3
"""Number of runs of the original; lines in which they differ (times, addresses) are not
compared."""
N_AGAIN = 5
"""Number of further runs of it if the port prints something else: sums by atomics vary between
runs."""


@dataclass(frozen=True)
class HardwareRun:
    """How a file's program is built and run."""

    includes: tuple[Path, ...] = ()
    running: RunOptions = NO_OPTIONS
    defines: tuple[str, ...] = ()
    original_includes: tuple[Path, ...] = ()


def runs_on_nvidia(original: Path, ported: Path, program: HardwareRun) -> Rung:
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
    flags = (arch, *(f"-D{define}" for define in program.defines), *_libraries(original))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        first, second = folder / "original", folder / "port"
        before = nvidia.nvcc(
            original, first, flags=flags, includes=program.original_includes or program.includes
        )
        if not before.is_built:
            why = tuple(f"the original: {error}" for error in before.errors[:3])
            return Rung("nvidia", RungStatus.NOT_CHECKED, why)
        after = nvidia.nvcc(ported, second, flags=flags, includes=(layer(), *program.includes))
        if not after.is_built:
            return Rung("nvidia", RungStatus.FAILED, tuple(after.errors[:5]))
        if gpu_missing is not None:
            said = f"{gpu_missing}; the port compiles through the header layer"
            return Rung("nvidia", RungStatus.NOT_CHECKED, (said,))
        before_runs = [_ran(first, program, folder) for _ in range(N_ORIGINAL)]
        if code := before_runs[0].exit_code:
            said = ended(code, before_runs[0].errors, program.running.limit_s)
            return Rung("nvidia", RungStatus.NOT_CHECKED, (f"the original {said}",))
        after_run = _ran(second, program, folder)
        rung = _compared("nvidia", before_runs, after_run, program.running.limit_s)
        if rung.status is RungStatus.FAILED and not after_run.exit_code:
            again = [_ran(first, program, folder) for _ in range(N_AGAIN)]
            before_runs += [run for run in again if not run.exit_code]
            rung = _compared("nvidia", before_runs, after_run, program.running.limit_s)
        return rung


def _libraries(source: Path) -> tuple[str, ...]:
    """Return the CUDA libraries to link with, by the headers that a file includes."""
    included = re.findall(r"#\s*include\s*[<\"]([\w/.]+)", source.read_text(errors="replace"))
    return tuple(
        f"-l{name}" for name in LIBRARIES if any(path.startswith(name) for path in included)
    )


def _compared(name: str, before: Sequence[Left], after: Left, limit_s: float) -> Rung:
    """Compare what the port left with what the original's runs left."""
    details = faults_of(after, before, limit_s)
    status = RungStatus.FAILED if details else RungStatus.PASSED
    values = tuple(counted(before, None).items())
    return Rung(name, status, tuple(details), values=values, units=("program",))


def runs_on_amd(original: Path, ported: Path, program: HardwareRun) -> Rung:
    """Rung 4: build with hipcc, run on this machine's AMD GPU, and compare with the original's
    output.

    The original cannot run there: its output is that of the emulation at 32 lanes.
    """
    if missing := amdgpu.gpu_missing() or amdgpu.hipcc_missing():
        return Rung("amd", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        flags = Flags(program.original_includes, program.defines)
        wanted = reference(
            Program.of(read_exact(original), original.name, flags), folder, program.running
        )
        if isinstance(wanted, str):
            return Rung("amd", RungStatus.NOT_CHECKED, (f"the original {wanted}",))
        words = [*(f"-I{path}" for path in program.includes), *(f"-D{d}" for d in program.defines)]
        hipcc = ["hipcc", "-O2", "-std=c++17", "-w", *words]
        command = [*hipcc, str(ported), "-o", str(folder / "port")]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            errors = [line for line in built.stderr.splitlines() if "error:" in line]
            return Rung("amd", RungStatus.FAILED, tuple(errors[:5]))
        after = _ran(folder / "port", program, folder)
    return replace(
        _compared("amd", wanted.runs, after, program.running.limit_s), values=wanted.values
    )


def _ran(built: Path, program: HardwareRun, folder: Path) -> Left:
    """Run a program in a copy of its folder, and return what it left."""
    options = program.running
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

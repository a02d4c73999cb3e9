"""Rungs 3 and 4: the port runs on a real GPU, beside the original."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelwright.core.secrets import open_environment
from kernelwright.dialects import amdgpu, nvidia
from kernelwright.dialects.simt import machine
from kernelwright.port.build_flags import Flags
from kernelwright.port.ladder import LIMIT_S, Rung, RungStatus, differences, loose_lines, reference
from kernelwright.port.layer import layer

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
    arguments: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    limit_s: float = LIMIT_S
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
            said = tuple(f"the original: {error}" for error in before.errors[:3])
            return Rung("nvidia", RungStatus.NOT_CHECKED, said)
        after = nvidia.nvcc(ported, second, flags=flags, includes=(layer(), *program.includes))
        if not after.is_built:
            return Rung("nvidia", RungStatus.FAILED, tuple(after.errors[:5]))
        if gpu_missing is not None:
            said = f"{gpu_missing}; the port compiles through the header layer"
            return Rung("nvidia", RungStatus.NOT_CHECKED, (said,))
        before_runs = [_run(first, program, folder) for _ in range(N_ORIGINAL)]
        if before_runs[0][0]:
            left = before_runs[0][0]
            said = "does not end in time" if left == machine.LATE else f"leaves with {left} here"
            return Rung("nvidia", RungStatus.NOT_CHECKED, (f"the original {said}",))
        printed, after_run = [text for _, text in before_runs], _run(second, program, folder)
        rung = _compared("nvidia", printed, after_run)
        if rung.status is RungStatus.FAILED and not after_run[0]:
            again = [_run(first, program, folder) for _ in range(N_AGAIN)]
            printed += [text for left, text in again if not left]
            rung = _compared("nvidia", printed, after_run)
        return rung


def _libraries(source: Path) -> tuple[str, ...]:
    """Return the CUDA libraries to link with, by the headers that a file includes."""
    included = re.findall(r"#\s*include\s*[<\"]([\w/.]+)", source.read_text(errors="replace"))
    return tuple(
        f"-l{name}" for name in LIBRARIES if any(path.startswith(name) for path in included)
    )


def _compared(name: str, before: Sequence[str], after: tuple[int, str]) -> Rung:
    """Compare the outputs of the original's runs with the exit code and output of the port's
    run."""
    left, printed = after
    details = [f"exits with {left}, the original with 0"] if left else []
    details += differences(printed, before[0], loose_lines(before))
    return Rung(name, RungStatus.FAILED if details else RungStatus.PASSED, tuple(details))


def runs_on_amd(original: Path, ported: Path, program: HardwareRun) -> Rung:
    """Rung 4: build with hipcc, run on this machine's AMD GPU, and compare with the original's
    output.

    The original cannot run there: its output is that of the emulation at 32 lanes.
    """
    if missing := amdgpu.gpu_missing() or amdgpu.hipcc_missing():
        return Rung("amd", RungStatus.NOT_CHECKED, (missing,))
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        text = original.read_text(errors="surrogateescape")
        wanted = reference(
            text,
            folder,
            flags=Flags(program.original_includes, program.defines),
            arguments=program.arguments,
            limit_s=program.limit_s,
            name="amd",
        )
        if isinstance(wanted, Rung):
            return wanted
        words = [*(f"-I{path}" for path in program.includes), *(f"-D{d}" for d in program.defines)]
        hipcc = ["hipcc", "-O2", "-std=c++17", "-w", *words]
        command = [*hipcc, str(ported), "-o", str(folder / "port")]
        built = subprocess.run(command, capture_output=True, text=True, check=False)
        if built.returncode:
            errors = [line for line in built.stderr.splitlines() if "error:" in line]
            return Rung("amd", RungStatus.FAILED, tuple(errors[:5]))
        code, printed = _run(folder / "port", program, folder)
    details = [f"leaves with {code}"] if code else []
    details += differences(printed, *wanted[:2])
    return Rung("amd", RungStatus.FAILED if details else RungStatus.PASSED, tuple(details))


def _run(built: Path, program: HardwareRun, folder: Path) -> tuple[int, str]:
    try:
        done = subprocess.run(
            ["program", *program.arguments],
            executable=built,
            cwd=folder,
            env=open_environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=program.limit_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return machine.LATE, ""
    return done.returncode, done.stdout

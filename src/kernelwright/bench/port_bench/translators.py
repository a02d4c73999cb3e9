"""The translators that the port benchmark compares: ours and hipify-perl."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelwright.bench.port_bench.program import BenchProgram
from kernelwright.core.errors import UsageError
from kernelwright.hipify import translate

Translator = Callable[[BenchProgram], str]


def ours(program: BenchProgram) -> str:
    """Return the HIP text of our own translator."""
    return translate(program.source, file=f"{program.name}.cu").text


def hipify_perl(script: Path) -> Translator:
    """Return a translator that runs hipify-perl, which belongs to ROCm/HIPIFY, not to this project.

    Raises:
        UsageError: ``script`` is not a file.
    """
    if not script.is_file():
        raise UsageError(
            "no hipify-perl there", seen=str(script), do="name bin/hipify-perl of a checkout"
        )

    def run(program: BenchProgram) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{program.name}.cu")
            path.write_text(program.source)
            command = ["perl", str(script), str(path)]
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    return run

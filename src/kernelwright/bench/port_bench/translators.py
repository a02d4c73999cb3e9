"""Translators that the bench can be run over: ours, and hipify-perl beside it."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

from kernelwright.bench.port_bench.program import Program
from kernelwright.core.errors import UsageError
from kernelwright.hipify import translate

Translator = Callable[[Program], str]


def ours(program: Program) -> str:
    """The HIP text of our own translator."""
    return translate(program.source, file=f"{program.name}.cu").text


def hipify_perl(script: Path) -> Translator:
    """hipify-perl as a translator. It is a part of ROCm/HIPIFY and never of this project.

    Raises:
        UsageError: ``script`` is not a file.
    """
    if not script.is_file():
        raise UsageError(
            "no hipify-perl there", seen=str(script), do="name bin/hipify-perl of a checkout"
        )

    def run(program: Program) -> str:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, f"{program.name}.cu")
            path.write_text(program.source)
            command = ["perl", str(script), str(path)]
            return subprocess.run(command, capture_output=True, text=True, check=False).stdout

    return run

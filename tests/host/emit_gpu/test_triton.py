"""Emitted Triton, run by Triton's interpreter, means what the program means, and compiles for
NVIDIA and AMD GPUs on a machine that has neither."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

ROOT = Path(__file__).parents[3]


def require_nothing_wrong(child: str, *check: str) -> None:
    """Run the checks of a child process; each names what is wrong with every case."""
    command = [sys.executable, "-W", "ignore", "-m", f"tests.host.emit_gpu.{child}", *check]
    environment = {**os.environ, "TRITON_INTERPRET": "0" if "compile" in check else "1"}
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=environment, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    wrong = {name: what for name, what in json.loads(done.stdout).items() if what}
    assert not wrong, "\n\n".join(f"{name}: {what}" for name, what in wrong.items())


@pytest.mark.slow
@pytest.mark.parametrize(
    "check", ["values", "norms", "scores", "compile", "weights", "traces", "joins", "channels"]
)
def test_every_program(check):
    """Its values, norms of equal values, attention without scores, that it compiles, that a weight
    is split once for each of its versions, that traces hold what is laid out for kernels, that
    parts of a concatenation are computed in place, and channels reduced where they are."""
    require_nothing_wrong("triton_child", check)


@pytest.mark.slow
def test_training_steps_have_the_modules_gradients():
    require_nothing_wrong("training_child")


@pytest.mark.slow
@pytest.mark.parametrize("check", ["values", "compile"])
def test_programs_with_both_phases_of_a_transposed_convolution(check):
    """They compute what the module does, and their kernels compile for GPUs."""
    require_nothing_wrong("joined_child", check)

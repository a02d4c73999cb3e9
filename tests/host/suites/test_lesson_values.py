"""The kernels of lessons, run by Triton's interpreter, agree with their references."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

CHILD = Path(__file__).with_name("lesson_child.py")


@pytest.mark.slow
def test_kernels_agree_with_their_references():
    command = [sys.executable, "-W", "ignore", str(CHILD)]
    environment = {**os.environ, "TRITON_INTERPRET": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    wrong = {name: what for name, what in json.loads(done.stdout).items() if what}
    assert not wrong, "\n\n".join(f"{name}: {what}" for name, what in wrong.items())

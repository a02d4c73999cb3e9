"""A disk that fills up while `optimize` writes what it found."""

import os
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

SMALL = ["unshare", "--mount", *(["--map-root-user"] if os.geteuid() else [])]


def can_mount(folder: Path) -> bool:
    if shutil.which("unshare") is None:
        return False
    command = [*SMALL, "mount", "-t", "tmpfs", "none", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.slow
def test_a_full_disk_is_one_error_and_costs_no_verdict(folder, kernelwright):
    out = Path(folder, "out")
    out.mkdir()
    if not can_mount(out):
        pytest.skip("needs unshare(1), and the right to mount in a namespace of one's own")
    words = ["optimize", "task.py", "--budget", "3s", "--dialect", "cpp"]
    inside = f"mount -t tmpfs -o size=4k none {out} && exec {sys.executable} -m kernelwright "
    place = ["--out", str(out), "--archive", "sqlite:///kept.sqlite"]
    command = [*SMALL, "sh", "-c", inside + '"$@"', "sh", *words, *place]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 3, done.stderr
    assert "No space left" in done.stderr and "Traceback" not in done.stderr
    assert "do:" in done.stderr

    kept = kernelwright("show", "best", "--archive", "sqlite:///kept.sqlite")
    assert kept.returncode in (0, 1), kept.stderr
    with sqlite3.connect(Path(folder, "kept.sqlite")) as archive:
        assert archive.execute("select count(*) from evaluation").fetchone()[0] >= 1

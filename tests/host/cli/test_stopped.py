"""A command that is stopped ends with one line and a code: a judge leaves nothing,
and one that was killed leaves it to the next."""

import os
import signal
import subprocess
import sys
import time

import psutil
import pytest
from tests.host.relu_task import TASK

HANGS = """
import time
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        while True: time.sleep(0.1)
"""
LONG_S = 120.0  # to start on a loaded machine, from a cold disk


@pytest.fixture
def files(files):
    return {"hangs.py": HANGS, **files}


@pytest.fixture
def judging(folder):
    """A judge of its own that waits for a candidate, and its processes."""
    command = [sys.executable, "-m", "kernelwright", "judge", "task.py", "hangs.py"]
    how = {"cwd": folder, "env": os.environ | {"TMPDIR": str(folder)}}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **how) as process:
        end_s = time.monotonic() + LONG_S
        while not list(folder.glob("kernelwright-*-scratch-*/0")) and time.monotonic() < end_s:
            time.sleep(0.05)
        yield process, psutil.Process(process.pid).children(recursive=True)
        process.kill()


def test_sigterm_ends_all_that_was_started(judging, folder):
    process, children = judging
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=LONG_S)
    last = err.splitlines()[-1]  # the first says what is judged
    assert (process.returncode, last) == (143, "interrupted; run the same command again")
    assert children and not psutil.wait_procs(children, timeout=5)[1]
    assert not list(folder.glob("kernelwright-*-scratch-*"))


def test_what_a_killed_judge_left_is_swept_by_the_next(judging, folder, kernelwright, monkeypatch):
    process, children = judging
    process.kill()
    assert not psutil.wait_procs(children, timeout=30)[1]
    assert list(folder.glob("kernelwright-*-scratch-*"))
    monkeypatch.setenv("TMPDIR", str(folder))
    assert kernelwright("judge", "task.py", "wrong.py").returncode == 1
    assert not list(folder.glob("kernelwright-*-scratch-*"))


def test_ctrl_c_while_the_tasks_file_makes_a_class_exits_with_a_code(folder):
    """A signal inside an ``exec`` of text, as dataclasses use it, would end Python."""
    heeds = "signal.signal(signal.SIGINT, signal.default_int_handler)"  # also in the background
    stops = "exec('os.kill(os.getpid(), signal.SIGINT)\\nwhile True: pass')"
    text = f"import os, signal\n{heeds}\n{stops}\n"
    (folder / "task.py").write_text(text + TASK)
    command = [sys.executable, "-m", "kernelwright", "judge", "task.py", "wrong.py"]
    how = {"cwd": folder, "capture_output": True, "text": True, "timeout": LONG_S}
    done = subprocess.run(command, check=False, **how)
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, last) == (1, "interrupted; run the same command again")

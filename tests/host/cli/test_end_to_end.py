"""The command line from a file to a verdict, a kernel and a report, with the real judge."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

# A task and a candidate that write to stdout wherever they can: Python, descriptor, child process.
NOISE = """
import os
import torch
print("noise at import")
os.write(1, b"noise on the descriptor\\n")
os.system("echo noise of a child")
"""
TASK = (
    NOISE
    + """
class Model(torch.nn.Module):
    def forward(self, x):
        print("noise in forward")
        return torch.relu(x) * 2 + 1
def get_inputs():
    print("noise in get_inputs")
    return [torch.randn(64, 512)]
def get_init_inputs():
    return []
"""
)
RIGHT = (
    NOISE
    + """
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0).mul(2).add(1)
"""
)
WRONG = RIGHT.replace("mul(2)", "mul(2.001)")


@pytest.fixture
def folder(tmp_path):
    for name, text in {"task.py": TASK, "right.py": RIGHT, "wrong.py": WRONG}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def kernelwright(folder, *words):
    command = [sys.executable, "-m", "kernelwright.cli", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("candidate", "code"), [("right.py", 0), ("wrong.py", 1)])
def test_judge_answers_in_one_json_object(folder, candidate, code):
    done = kernelwright(folder, "judge", "task.py", candidate, "--json")
    assert done.returncode == code, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["passed"] == (code == 0) and verdict["device"] == "cpu"
    assert bool(verdict["reasons"]) == (code == 1)
    assert ("speedup" in verdict) == (code == 0)
    if code == 0:
        assert {"eager", "compile", verdict["strongest"]} <= verdict["speedup"].keys()


def test_optimize_then_show_and_resume(folder):
    words = ["optimize", "task.py", "--budget", "5s", "--dialect", "cpp", "--json"]
    done = kernelwright(folder, *words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "judged" in done.stderr and "s left" in done.stderr
    assert answer["candidates"]["passed"] >= 1 and not answer["interrupted"]
    source = Path(folder, answer["source"]).read_text()
    assert "ModelNew" in source and "kernelwright" not in source.replace("kernelwright-", "")
    assert Path(folder, answer["report"]).read_text().startswith("<!doctype html>")

    again = json.loads(kernelwright(folder, *words).stdout)
    assert sum(again["candidates"].values()) >= sum(answer["candidates"].values())

    shown = kernelwright(folder, "show", "best", "--json")
    assert (shown.returncode == 0) == (again["best"] is not None)

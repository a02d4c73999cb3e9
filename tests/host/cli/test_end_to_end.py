"""The command line from a file to a verdict, a kernel and a report, with the real judge."""

import json
import re
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
TALK = 'print("noise in a call")'


@pytest.fixture
def files(files):
    noisy = {name: re.sub("( +)(return .*)", rf"\1{TALK}\n\1\2", t) for name, t in files.items()}
    return {name: NOISE + text for name, text in noisy.items()}


@pytest.mark.parametrize(("candidate", "code"), [("right.py", 0), ("wrong.py", 1)])
def test_judge_answers_in_one_json_object(folder, kernelwright, candidate, code):
    done = kernelwright("judge", "task.py", candidate, "--json")
    assert done.returncode == code, done.stderr
    verdict = json.loads(done.stdout)
    assert verdict["passed"] == (code == 0) and verdict["device"] == "cpu"
    assert bool(verdict["reasons"]) == (code == 1)
    assert ("speedup" in verdict) == (code == 0)
    if code == 0:
        assert {"eager", "compile", verdict["strongest"]} <= verdict["speedup"].keys()


@pytest.mark.timeout(600)  # two searches, perhaps on a busy machine
def test_optimize_then_show_and_resume(folder, kernelwright):
    words = ["optimize", "task.py", "--budget", "5s", "--dialect", "cpp", "--json"]
    done = kernelwright(*words)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert "judged" in done.stderr and "s left" in done.stderr
    assert answer["candidates"]["passed"] >= 1 and not answer["interrupted"]
    assert bool(answer["uses"]) == (answer["best"] is not None)
    source = Path(folder, answer["source"]).read_text()
    assert "ModelNew" in source and "kernelwright" not in source.replace("kernelwright-", "")
    assert Path(folder, answer["report"]).read_text().startswith("<!doctype html>")

    again = json.loads(kernelwright(*words, "--no-tries-uses").stdout)
    assert sum(again["candidates"].values()) >= sum(answer["candidates"].values())

    shown = kernelwright("show", "best", "--json")
    assert (shown.returncode == 0) == (again["best"] is not None)

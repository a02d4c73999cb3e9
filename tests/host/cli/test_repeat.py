"""Verdicts are written down and repeated; a false claim does not stand."""

import json
import subprocess
import sys
from dataclasses import replace

import pytest

import kernelwright as kw
from kernelwright.core.evaluation import Timing
from kernelwright.receipt import Receipt

TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1
def get_inputs():
    return [torch.randn(512, 512)]
def get_init_inputs():
    return []
"""
RIGHT = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0).mul_(2).add_(1)
"""
WRONG = RIGHT.replace("mul_(2)", "mul_(2.001)")


@pytest.fixture
def folder(tmp_path):
    for name, text in {"task.py": TASK, "right.py": RIGHT, "wrong.py": WRONG}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def kernelwright(folder, *words):
    command = [sys.executable, "-m", "kernelwright.cli", *words, "--json"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def faster(receipt):
    """The receipt of somebody who claims a hundred times the speed."""
    found = receipt.evaluation
    series = dict(found.timing.samples_ns)
    series["candidate"] = tuple(max(1, ns // 100) for ns in series["candidate"])
    timing = Timing(series, found.timing.strongest, found.timing.clock, found.timing.cache)
    return replace(receipt, evaluation=replace(found, timing=timing))


def test_a_false_claim_does_not_stand(folder):
    code, verdict = kernelwright(folder, "judge", "task.py", "right.py", "--receipt", "r.json")
    assert code == 0 and verdict["receipt"] == "r.json"
    receipt = Receipt.read(folder / "r.json")
    assert receipt.task.source == TASK and receipt.candidate.source == RIGHT
    faster(receipt).write(folder / "claim.json")
    code, again = kernelwright(folder, "judge", "task.py", "--repeat", "claim.json")
    assert code == 1 and again["stands"] is False and again["verdict"]["status"] == "passed"
    assert again["verdict"]["seed"] != again["receipt"]["seed"]
    (difference,) = again["differences"]
    assert "moved by -9" in difference


def test_a_refusal_is_repeated_from_python(folder):
    verdict = kw.judge(folder / "task.py", folder / "wrong.py", receipt=folder / "r.json")
    again = kw.repeat(folder / "r.json")
    assert verdict.status == "wrong_values" and again.stands

import json
import sys

import pytest

from kernelwright.cli import main

TASK_FILE = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
def get_inputs():
    return [torch.randn(8, 8)]
def get_init_inputs():
    return []
"""


@pytest.fixture
def task(tmp_path):
    path = tmp_path / "task.py"
    path.write_text(TASK_FILE)
    return path


@pytest.fixture
def run(capfd, tmp_path, monkeypatch):
    """Run a command line in an empty folder: (exit code, stdout, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run_words(*words):
        with pytest.raises(SystemExit) as left:
            main.main([str(word) for word in words])
        sys.stdout.flush()
        out, err = capfd.readouterr()
        return left.value.code, out, err

    return run_words


@pytest.fixture
def ask(run):
    """Run with --json: (exit code, the one object on stdout)."""

    def ask_words(*words):
        code, out, _ = run(*words, "--json")
        return code, json.loads(out)

    return ask_words

"""The proposer of docs/guides/plugins.md, as a package that somebody installed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCUMENT = (Path(__file__).parents[3] / "docs" / "guides" / "plugins.md").read_text()
TASK = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return {body}


def get_inputs():
    return [torch.randn(256, 256)]


def get_init_inputs():
    return []
"""


def block(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.M | re.S)
    return found


@pytest.fixture
def searched(tmp_path):
    """What a search with the proposer alone answers on a task with this body."""
    installed = tmp_path / "installed"
    installed.mkdir()
    (installed / "silu.py").write_text(block("python"))
    found = installed / "silu-1.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: silu\nVersion: 1\n")
    group, _, line = block("toml").strip().partition("\n")
    group = re.fullmatch(r'\[project\.entry-points\."(.+)"\]', group)[1]
    name, _, value = line.partition(" = ")
    (found / "entry_points.txt").write_text(f"[{group}]\n{name} = {json.loads(value)}\n")

    def search(body):
        (tmp_path / "task.py").write_text(TASK.format(body=body))
        path = os.pathsep.join([str(installed), *sys.path])
        words = ["optimize", "task.py", "--proposer", "silu", "--dialect", "torch", "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "kernelwright", *words, "--budget", "2s"], cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    return search


def test_the_search_asks_an_installed_proposer_and_judges_what_it_says(searched):
    answer = searched("torch.sigmoid(x) * x")
    assert answer["candidates"] == {"passed": 1}

"""The proposer of docs/guides/plugins.md and its tests, as a package that somebody installed."""

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
        return torch.sigmoid(x) * x


def get_inputs():
    return [torch.randn(256, 256)]


def get_init_inputs():
    return []
"""


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", DOCUMENT, re.M | re.S)


@pytest.fixture
def run(tmp_path):
    """Run a module of Python where the document's package is installed, beside ``swish.py``."""
    installed = tmp_path / "installed"
    installed.mkdir()
    proposer, tests = blocks("python")
    (installed / "silu.py").write_text(proposer)
    found = installed / "silu-1.dist-info"
    found.mkdir()
    (found / "METADATA").write_text("Metadata-Version: 2.1\nName: silu\nVersion: 1\n")
    (entry_point,) = blocks("toml")
    group, _, line = entry_point.strip().partition("\n")
    group = re.fullmatch(r'\[project\.entry-points\."(.+)"\]', group)[1]
    name, _, value = line.partition(" = ")
    (found / "entry_points.txt").write_text(f"[{group}]\n{name} = {json.loads(value)}\n")
    (tmp_path / "test_silu.py").write_text(tests)
    (tmp_path / "swish.py").write_text(TASK)

    def run(*words):
        path = os.pathsep.join([str(installed), *sys.path])
        return subprocess.run(
            [sys.executable, "-m", *words],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_the_search_asks_an_installed_proposer_and_judges_what_it_says(run):
    words = ["optimize", "swish.py", "--proposer", "silu", "--dialect", "torch", "--json"]
    done = run("kernelwright", *words, "--budget", "2s")
    assert done.stdout, done.stderr
    assert json.loads(done.stdout)["candidates"] == {"passed": 1}


def test_the_proposer_passes_the_suite_that_its_tests_run(run):
    done = run("pytest", "-q", "-p", "no:cacheprovider", "test_silu.py")
    assert done.returncode == 0, done.stdout
    assert re.search(r"^1[0-9] passed", done.stdout, re.M), done.stdout

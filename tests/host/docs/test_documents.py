"""Documentation runs: every Python block is executed, every command line of a block is parsed."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kernelwright.cli import main

ROOT = Path(__file__).parents[3]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)


def blocks(language: str):
    for path in DOCUMENTS:
        for n, match in enumerate(BLOCK.finditer(path.read_text()), start=1):
            if match[1] == language:
                yield pytest.param(match[2], id=f"{path.name}-{n}")


INDENTED = re.compile(r"(?:^|\n\n) {4}\S.*")
PROGRAM = re.compile(r"benchmarks/\w+\.(?:py|sh)")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_all_code_is_fenced_and_says_its_language(path):
    """What is not is read by no test here."""
    outside = BLOCK.sub("", path.read_text())
    assert not INDENTED.findall(outside)
    assert "```" not in outside


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_programs_that_a_figure_is_repeated_by_exist(path):
    missing = [name for name in PROGRAM.findall(path.read_text()) if not (ROOT / name).exists()]
    assert not missing


ALONE = [block for block in blocks("python") if "from silu import" not in block.values[0]]
"""Blocks that need no package of a reader's own; test_extend.py runs the others."""


@pytest.mark.parametrize("code", ALONE)
def test_python_blocks_run(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def command_lines():
    for block in blocks("sh"):
        for line in block.values[0].replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            if words[:1] == ["kernelwright"]:
                yield pytest.param(words[1:], id=" ".join(words))


@pytest.mark.parametrize("words", list(command_lines()))
def test_command_lines_name_commands_and_options_that_exist(words):
    context = click.Context(main, **main.context_settings)
    command, rest = main, list(words)
    while isinstance(command, click.Group):
        name, command, rest = command.resolve_command(context, rest)
    assert command is not None
    command.make_context(name, rest, parent=context)

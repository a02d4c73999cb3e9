"""Documentation runs: Python is executed, command lines are parsed, links are looked up."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from kernelwright.cli import main

ROOT = Path(__file__).parents[3]
LAB = ROOT / "docs" / "lab"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS = [
    *sorted(ROOT.glob("*.md")),
    *(path for path in PAGES if path.parent != LAB or path.name == "README.md"),
]
"""Experiments are left out: they are never changed, and what they ran may be gone."""
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
INDENTED = re.compile(r"(?:^|\n\n) {4}\S.*")
PROGRAM = re.compile(r"benchmarks/\w+\.(?:py|sh)")
LINK = re.compile(r"\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"")
HEADING = re.compile(r"^#+ (.+)$", re.M)


def name_of(path):
    return str(path.relative_to(ROOT))


def blocks(language: str):
    for path in DOCUMENTS:
        for n, match in enumerate(BLOCK.finditer(path.read_text()), start=1):
            if match[1] == language:
                yield pytest.param(match[2], id=f"{name_of(path)}-{n}")


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_all_code_is_fenced_and_says_its_language(path):
    """Other code is read by no test here."""
    outside = BLOCK.sub("", path.read_text())
    assert not INDENTED.findall(outside)
    assert "```" not in outside


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_programs_that_a_figure_is_repeated_by_exist(path):
    missing = [name for name in PROGRAM.findall(path.read_text()) if not (ROOT / name).exists()]
    assert not missing


def anchors(path):
    """The anchors that GitHub gives to a page's headings."""
    return {
        re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        for title in HEADING.findall(BLOCK.sub("", path.read_text()))
    }


@pytest.mark.parametrize("path", DOCUMENTS, ids=name_of)
def test_links_lead_somewhere(path):
    for link in map("".join, LINK.findall(BLOCK.sub("", path.read_text()))):
        file, _, anchor = link.partition("#")
        target = (path.parent / file).resolve() if file else path
        if "://" not in link:
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_every_page_is_linked_from_another():
    linked = {
        (path.parent / "".join(link).partition("#")[0]).resolve()
        for path in DOCUMENTS
        for link in LINK.findall(path.read_text())
    }
    assert [path for path in DOCUMENTS if path not in linked and path.parent != ROOT] == []


ALONE = [block for block in blocks("python") if "from silu import" not in block.values[0]]
"""Blocks that need no package of a reader's own; test_plugins.py runs the others."""


@pytest.mark.parametrize("code", ALONE)
def test_python_blocks_run(code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def command_lines():
    for block in blocks("sh"):
        for line in block.values[0].replace("\\\n", " ").splitlines():
            words = shlex.split(line.partition(" > ")[0], comments=True)
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

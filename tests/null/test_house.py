"""The rules of the house that can be counted: sizes, names, and the tree of the README."""

import ast
import re
from pathlib import Path

import pytest

import kernelwright

ROOT = Path(kernelwright.__file__).parent
HOME = ROOT.parents[1]
DATA = ("builtin", "controls")  # task and candidate files stand for other people's
FILES = [
    path
    for folder in (ROOT, HOME / "benchmarks", HOME / "tests")
    for path in sorted(folder.rglob("*.py"))
    if not set(DATA) & set(path.relative_to(HOME).parts)
]
MAX_LINES, MAX_FUNCTION_LINES = 600, 60
SAYS_NOTHING = re.compile(r"(^|_)(utils?|helpers?|commons?|misc|manager|agent|impl)(_|$)", re.I)
WORDS = re.compile(r"(?<=[a-z])(?=[A-Z])")  # between the words of a class's name


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(HOME)))
def test_a_file_can_be_read_at_one_sitting(path):
    text = path.read_text()
    assert len(text.splitlines()) <= MAX_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            assert not SAYS_NOTHING.search(WORDS.sub("_", node.name)), node.name
        if isinstance(node, ast.FunctionDef):
            assert node.end_lineno - node.lineno < MAX_FUNCTION_LINES, node.name
    assert not SAYS_NOTHING.search(path.stem)


def test_the_readme_shows_the_tree():
    tree = (HOME / "README.md").read_text().partition("## The tree")[2]
    shown = set(re.findall(r"^  (\w+)/ ", tree, re.M))
    assert shown == {path.parent.name for path in ROOT.glob("*/__init__.py")}

"""A candidate with the reference's text brings its author's own modules along."""

from __future__ import annotations

import ast
import contextlib
import sys

import pytest

from kernelwright.compiler.candidate.splice import splice
from kernelwright.core.candidate import Brief
from kernelwright.core.device import Device
from kernelwright.loaders import load
from kernelwright.proposers.rules import RulesProposer

SCALES = "def by_two(x):\n    return x * 2\n"
OPS = "from .scales import by_two\n\n\ndef twice(x):\n    return by_two(x.sigmoid())\n"
IMPORTS = "from own_beside.ops import twice\n"
TASK = (
    '''"""A task."""

from __future__ import annotations

import torch
'''
    + IMPORTS
    + """

class Inner(torch.nn.Module):
    def forward(self, x):
        return twice(torch.relu(x))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()

    def forward(self, x):
        return self.inner(x)


def get_inputs():
    return [torch.randn(64, 256)]


def get_init_inputs():
    return []
"""
)
BROKEN = TASK.replace("self.inner(x)", "self.inner(x if x.sum() > 0 else -x)")
EITHER_WAY = """\
try:
    from own_beside.faster import twice
except ImportError:
    from own_beside.ops import twice
"""
ALL = "from own_beside.ops import *\n"


@contextlib.contextmanager
def forgotten():
    """After the imports, no name comes from the author's modules or a text with them."""
    finders = list(sys.meta_path)
    try:
        yield
    finally:
        sys.meta_path[:] = finders
        for name in [n for n in sys.modules if n.startswith("own_")]:
            del sys.modules[name]


@pytest.fixture
def proposed(tmp_path):
    """Return the rules' first candidate for a task beside a package of its author's."""
    package = tmp_path / "own_beside"
    package.mkdir()
    (package / "scales.py").write_text(SCALES)
    (package / "ops.py").write_text(OPS)

    def text(source, dialect="cpp", device="cpu"):
        (tmp_path / "own_task.py").write_text(source)
        brief = Brief(load(tmp_path / "own_task.py"), Device.parse(device), (dialect,), threads=1)
        with forgotten():
            return next(RulesProposer().propose(brief)).candidate.source

    with forgotten():
        yield text


def names_in(text):
    """Return the names that a file's text defines, up to and including its last import."""
    parts = ast.parse(text).body
    last = max(n for n, part in enumerate(parts) if isinstance(part, (ast.ImportFrom, ast.Try)))
    found = {}
    exec(compile(ast.Module(parts[: last + 1], []), "candidate.py", "exec"), found)
    return found


@pytest.mark.parametrize("source", [TASK, BROKEN], ids=["whole", "around a graph break"])
@pytest.mark.parametrize(("dialect", "device"), [("cpp", "cpu"), ("triton", "cuda:sm_90")])
def test_a_proposed_file_imports_own_modules_from_another_folder(proposed, source, dialect, device):
    text = proposed(source, dialect, device)
    assert names_in(text)["twice"].__module__ == "own_beside.ops"


@pytest.mark.parametrize("imports", [EITHER_WAY, ALL], ids=["in a try", "all names"])
def test_every_form_of_import_is_found(proposed, imports):
    assert imports in proposed(TASK.replace(IMPORTS, imports))


def test_a_task_without_own_modules_gets_no_imports(proposed):
    text = proposed(TASK.replace(IMPORTS, "twice = torch.neg\n"))
    assert "_OWN_MODULES" not in text and "importlib" not in text


def test_a_form_feed_or_a_mark_in_a_string_moves_no_line_of_the_reference():
    """Once, every kernel for such a task was a file that Python cannot parse."""
    source = TASK.replace(IMPORTS, "\x0c\ndef twice(x):\n    return x * 2\n").replace(
        "        return self.inner(x)", "        mark = 'a\u2028b'\n        return self.inner(x)"
    )
    parts = splice(source, "Model", "ModelNew")
    body = ast.parse(f"class ModelNew:\n{parts.body}").body[0].body
    assert [node.name for node in body] == ["__init__", "_reference_forward"]
    assert "mark = 'a\u2028b'" in parts.body
    assert [node.name for node in ast.parse(parts.definitions).body] == ["twice", "Inner"]

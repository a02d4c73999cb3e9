"""The structure of a task: its computation without shapes, names, numbers and spelling.

For a learner two tasks with the same structure are the same task: a model that was trained on one
has seen the other, whatever their names and paths are.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property

from kernelwright.core.digest import digest
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.syntax import parse
from kernelwright.core.task import Task
from kernelwright.loaders.trace import Trace, trace

NEAR = 0.8
"""Share of common steps from which two graphs with more than MIN_STEPS steps count as equal."""
MIN_STEPS = 5
"""Up to this number of distinct steps all must be common, since one of four is much of a task."""
_KEPT = frozenset(dir(builtins)) | {"torch", "nn", "F", "np", "math"}
_ABOUT_INPUTS = ("get_inputs", "get_init_inputs")


@dataclass(frozen=True)
class Structure:
    """The computation of a task; ``trace`` is None if it cannot be traced without values."""

    text: str
    """Digest of the text of its classes and functions without names and numbers."""
    trace: Trace | None

    @cached_property
    def steps(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """The kinds of operators, each with the kinds of the operators that feed it."""
        nodes = self.trace.nodes if self.trace else ()
        return frozenset((node.name, node.arguments) for node in nodes)

    @property
    def digest(self) -> str:
        """A digest that is equal for tasks of the same structure."""
        return self.trace.result if self.trace else self.text

    def repeats(self, other: Structure) -> bool:
        """Whether the two structures are equal or nearly equal."""
        if self.text == other.text or self.digest == other.digest:
            return True
        if not self.steps or not other.steps:
            return False
        common, all_of_both = self.steps & other.steps, self.steps | other.steps
        share = len(common) / len(all_of_both)
        return share == 1 or (share >= NEAR and len(all_of_both) > MIN_STEPS)


@cache
def structure(task: Task) -> Structure:
    """Return the structure of a task, without running it or allocating its tensors.

    The result is cached for the life of the process.
    """
    try:
        followed = trace(task)
    except KernelwrightError:
        followed = None
    return Structure(_form(task.source), followed)


class KnownStructures:
    """The structures of known tasks, to look up which of them a task repeats."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._structures = [(task.name, structure(task)) for task in tasks]

    def __len__(self) -> int:
        return len(self._structures)

    def repeated_by(self, wanted: Structure) -> str | None:
        """Return the name of a known task that ``wanted`` repeats, if there is one."""
        found = (name for name, known in self._structures if wanted.repeats(known))
        return next(found, None)


def _form(source: str) -> str:
    """Return the digest of a text's classes and functions without names and numbers."""
    kept = [
        _Anonymous().visit(node)
        for node in parse(source).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name not in _ABOUT_INPUTS
    ]
    return digest("form", [ast.dump(node) for node in kept])


class _Anonymous(ast.NodeTransformer):
    """Removes names, numbers and docstrings from a tree; names of torch's functions are kept."""

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return node if node.id in _KEPT else ast.Name("v", node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return ast.arg("v")

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        return ast.Constant(type(node.value).__name__)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        name = "v" if is_own else node.attr
        return ast.Attribute(self.visit(node.value), name, node.ctx)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        body = [self.visit(part) for part in _without_docstring(node.body)]
        return ast.ClassDef("v", [self.visit(base) for base in node.bases], [], body, [])

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        body = [self.visit(part) for part in _without_docstring(node.body)]
        return ast.FunctionDef(node.name, self.visit(node.args), body, [])


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0]
    is_text = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    return body[1:] if is_text else body

"""The structure of a task: what it computes, with shapes, names, numbers and spelling taken out.

Two tasks of one structure are one task for a learner: a model that has seen the one has seen the
other. Names and paths say nothing about it.
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
"""The share of common steps from which two graphs of some size are one."""
MIN_STEPS = 5  # fewer different steps must all be common: one of four is much of a task
_KEPT = frozenset(dir(builtins)) | {"torch", "nn", "F", "np", "math"}
_ABOUT_INPUTS = ("get_inputs", "get_init_inputs")


@dataclass(frozen=True)
class Structure:
    """What a task computes; ``trace`` is None where it cannot be followed without values."""

    text: str
    """The digest of the text of its classes and functions, names and numbers taken out."""
    trace: Trace | None

    @cached_property
    def steps(self) -> frozenset[tuple[str, tuple[str, ...]]]:
        """Every kind of operator with the kinds of those before it."""
        nodes = self.trace.nodes if self.trace else ()
        return frozenset((node.name, node.arguments) for node in nodes)

    @property
    def digest(self) -> str:
        """The same for tasks of the same structure."""
        return self.trace.result if self.trace else self.text

    def repeats(self, other: Structure) -> bool:
        """Whether it is the other, or next to it."""
        if self.text == other.text or self.digest == other.digest:
            return True
        if not self.steps or not other.steps:
            return False
        common, all_of_both = self.steps & other.steps, self.steps | other.steps
        share = len(common) / len(all_of_both)
        return share == 1 or (share >= NEAR and len(all_of_both) > MIN_STEPS)


@cache
def structure(task: Task) -> Structure:
    """The structure of a task; nothing is run and no memory is taken. Made once a process."""
    try:
        followed = trace(task)
    except KernelwrightError:
        followed = None
    return Structure(_form(task.source), followed)


class Known:
    """Structures by name, to ask which of them a task repeats."""

    def __init__(self, tasks: Iterable[Task] = ()) -> None:
        self._structures = [(task.name, structure(task)) for task in tasks]

    def __len__(self) -> int:
        return len(self._structures)

    def repeated_by(self, wanted: Structure) -> str | None:
        """The name of a task that ``wanted`` repeats, if there is one."""
        found = (name for name, known in self._structures if wanted.repeats(known))
        return next(found, None)


def _form(source: str) -> str:
    """The digest of a text's classes and functions without names and numbers."""
    kept = [
        _Anonymous().visit(node)
        for node in parse(source).body
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)) and node.name not in _ABOUT_INPUTS
    ]
    return digest("form", [ast.dump(node) for node in kept])


class _Anonymous(ast.NodeTransformer):
    """Takes names, numbers and docstrings out of a tree. What is called of torch keeps its name."""

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

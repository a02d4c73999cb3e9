"""The normal form of a candidate's text: two texts that differ only in how they are written share
it."""

from __future__ import annotations

import ast
import re

from kernelwright.core.syntax import parse

_C_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_SPACES = re.compile(r"\s+")


def normal_form(source: str) -> str:
    """``source`` without comments, docstrings and layout; also in the kernels that it holds as
    text. What is not Python is its own normal form.

    Only to see duplicates: what it gives need not run.
    """
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return source
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and _has_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            node.value = _SPACES.sub(" ", _C_COMMENTS.sub("", node.value)).strip()
    return ast.dump(tree)


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None

"""The normal form of a candidate's text: two texts that differ only in how they are written share
it."""

from __future__ import annotations

import ast
import re

from kernelwright.core.syntax import UNREADABLE, parse

_C_COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
_SPACES = re.compile(r"\s+")


def normal_form(source: str) -> str:
    """``source`` without comments, docstrings and layout; also in the kernels that it holds as
    text. What is not Python, or nested too deeply to be taken apart, is its own normal form.

    Only to see duplicates: what it gives need not run.
    """
    try:
        return _without_wording(parse(source))
    except UNREADABLE:
        return source


def _without_wording(tree: ast.Module) -> str:
    """A tree in words, without what says nothing of what it does."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and _has_docstring(node):
            node.body = node.body[1:] or [ast.Pass()]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "\n" in node.value:
            node.value = _SPACES.sub(" ", _C_COMMENTS.sub("", node.value)).strip()
    return ast.dump(tree)


def _has_docstring(node: ast.Module | ast.ClassDef | ast.FunctionDef) -> bool:
    return ast.get_docstring(node, clean=False) is not None

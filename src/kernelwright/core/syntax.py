"""Python source as a tree, from any thread, and as the lines that a tree numbers."""

from __future__ import annotations

import ast
import io
import threading

UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)
"""What reading a text raises that is no Python, or is nested too deeply for the parser."""
_TURN = threading.Lock()


def parse(source: str) -> ast.Module:
    """``ast.parse``, by one thread at a time.

    CPython 3.11.7 counts how deep a tree is for all threads together: of two that parse, one may
    get "SystemError: AST constructor recursion depth mismatch".

    Raises:
        UNREADABLE: it is no Python.
    """
    with _TURN:
        return ast.parse(source)


def parse_expression(source: str) -> ast.expr:
    """The tree of one expression, by one thread at a time.

    Raises:
        UNREADABLE: it is no Python.
    """
    with _TURN:
        return ast.parse(source, mode="eval").body


def lines(source: str) -> list[str]:
    """The lines of a source with their ends, as its tree numbers them: ``str.splitlines`` ends some
    at a form feed as well, or at a mark inside a string."""
    return io.StringIO(source, newline="").readlines()

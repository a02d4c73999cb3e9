"""Names of CUDA in Python code itself: libraries, their functions, options of compilers."""

from __future__ import annotations

import ast
import tomllib
from collections.abc import Iterator
from functools import cache

from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.table import TABLES, load_map

LIBRARIES = ("driver", "rtc", "runtime", "blas", "fft", "rand", "sparse", "solver")
"""Tables whose functions are called through ctypes; those of other libraries are C++ only."""
Span = tuple[int, int, int, int]
"""First line and column, last line and column of a span; lines from 1, columns in bytes."""


@cache
def _words() -> dict[str, dict[str, str]]:
    return tomllib.loads((TABLES / "python_to_hip.toml").read_text())


def python_changes(tree: ast.Module) -> Iterator[tuple[Span, str, Finding]]:
    """Yield each span of a Python file that names CUDA, its new text, and the finding.

    The text is empty if the span stays as it is.
    """
    nodes = list(ast.walk(tree))
    parts = {
        id(value) for node in nodes if isinstance(node, ast.JoinedStr) for value in node.values
    }
    for node in nodes:
        if isinstance(node, ast.Attribute):
            yield from _function(node)
        elif isinstance(node, (ast.Constant, ast.JoinedStr)) and id(node) not in parts:
            yield from _string(node)


def _function(node: ast.Attribute) -> Iterator[tuple[Span, str, Finding]]:
    """Yield the change of a library function that is called on a ctypes library."""
    row = load_map("hip").names.get(node.attr)
    if row is None or row.kind != "function" or row.library not in LIBRARIES:
        return
    line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
    span = (line, end - len(node.attr.encode()), line, end)
    if row.is_mapped:
        yield span, row.hip, Finding(line, State.TRANSLATED, node.attr, row.hip, advice=row.note)
        return
    yield (
        span,
        "",
        Finding(
            line,
            State.UNPORTED,
            node.attr,
            reason=f"no counterpart in ROCm ({row.source})",
            advice="rewrite this part, or leave it out on AMD",
        ),
    )


def _string(node: ast.Constant | ast.JoinedStr) -> Iterator[tuple[Span, str, Finding]]:
    first = node.values[0] if isinstance(node, ast.JoinedStr) and node.values else node
    if not isinstance(first, ast.Constant) or not isinstance(first.value, (str, bytes)):
        return
    said = first.value if isinstance(first.value, str) else first.value.decode(errors="replace")
    for kind, table in _words().items():
        begins = next((word for word in table if said.startswith(word)), None)
        if begins is None:
            continue
        span = (node.lineno, node.col_offset, node.end_lineno or 0, node.end_col_offset or 0)
        became = table[begins]
        if isinstance(first.value, bytes):
            became = f"{became}.encode()"
        reason = f"{kind} of CUDA's"
        yield span, became, Finding(node.lineno, State.CHANGED, said, became, reason)

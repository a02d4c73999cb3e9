"""Device code inside Python files: strings that hold it are translated, the rest stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from kernelwright.core.errors import UsageError
from kernelwright.core.syntax import parse
from kernelwright.dialects.simt.source import Edit, apply_edits
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.python_names import python_changes
from kernelwright.hipify.translate import Translation, translate

DEVICE_TEXT = re.compile(
    r"__global__|__device__|<<<|#include\s*<(cuda|hip)/?|\b(cuda|hip)[A-Z]\w+\("
)
_LITERAL = re.compile(r"(?P<mark>[rRbBuU]*)(?P<quote>\'\'\'|\"\"\"|\'|\")")


def translate_python(text: str, *, to: str = "hip", file: str = "") -> Translation:
    """Translate the device code in the strings of ``text``, a Python file.

    Covers the sources given to ``load_inline`` and to runtime compilers, and the libraries,
    functions and options that the file names itself. Line numbers of findings are the Python
    file's. Not covered: strings that are concatenated at run time, and files whose text is created
    at run time.

    Raises:
        UsageError: the text is not Python.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"{file or 'the file'} is not Python", seen=str(error), do="mend it"
        ) from error
    starts = starts_of_lines(text)
    findings: list[Finding] = []
    edits: list[Edit] = []
    for node in _strings(tree):
        edit, found = _device_text(node, text.encode(), starts, to, file)
        edits += [edit] if edit else []
        findings += found
    if to == "hip":
        for (line, column, last, end), became, finding in python_changes(tree):
            findings.append(replace(finding, file=file))
            if became:
                edits.append(Edit(starts[line - 1] + column, starts[last - 1] + end, became))
    placed = sorted(findings, key=lambda finding: finding.line)
    return Translation(apply_edits(text.encode(), edits).decode(), tuple(placed))


def device_texts(text: str) -> tuple[str, ...]:
    """Return the strings of a Python file that hold device code, with their run-time values; empty
    if the text is not Python."""
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return ()
    return tuple(str(node.value) for node in _strings(tree) if "__global__" in node.value)


def starts_of_lines(text: str) -> list[int]:
    """Return the offset in bytes at which each line begins."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def _device_text(
    node: ast.Constant, raw: bytes, starts: list[int], to: str, file: str
) -> tuple[Edit | None, list[Finding]]:
    """Return the translation of one string literal; None for a literal that consists of several."""
    start = starts[node.lineno - 1] + node.col_offset
    end = starts[(node.end_lineno or 0) - 1] + (node.end_col_offset or 0)
    literal = raw[start:end].decode()
    match = _LITERAL.match(literal)
    if match is None:
        return None, []
    head, quote = match[0], match["quote"]
    if not literal.endswith(quote):
        reason, advice = "strings with other quotes are put together", "write it as one string"
        return None, [Finding(node.lineno, State.UNPORTED, "device code", "", reason, advice, file)]
    done = translate(literal[len(head) : -len(quote)], to=to, file=file, implicit=False)
    moved = [_moved(finding, node.lineno) for finding in done.findings]
    return Edit(start, end, head + done.text + quote), moved


def _strings(tree: ast.Module) -> Iterator[ast.Constant]:
    found = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and DEVICE_TEXT.search(node.value)
    ]
    return iter(sorted(found, key=lambda node: (node.lineno, node.col_offset)))


def _moved(finding: Finding, line: int) -> Finding:
    return replace(finding, line=finding.line + line - 1)

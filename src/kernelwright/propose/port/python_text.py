"""Device code inside Python files: the strings that hold it are translated, all else is left."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from kernelwright.core.errors import UsageError
from kernelwright.propose.port.finding import Finding
from kernelwright.propose.port.translate import Translation, translate

DEVICE_TEXT = re.compile(
    r"__global__|__device__|<<<|#include\s*<(cuda|hip)/?|\b(cuda|hip)[A-Z]\w+\("
)
_LITERAL = re.compile(r"(?P<mark>[rRbBuU]*)(?P<quote>\'\'\'|\"\"\"|\'|\")")


def translate_python(text: str, *, to: str = "hip", file: str = "") -> Translation:
    """``text``, a Python file, with the device code in its strings translated.

    Covers the sources given to ``load_inline`` and to runtime compilers. Line numbers of findings
    are the Python file's.

    Raises:
        UsageError: the text is not Python.
    """
    try:
        tree = ast.parse(text)
    except SyntaxError as error:
        raise UsageError(
            f"{file or 'the file'} is not Python", seen=str(error), do="mend it"
        ) from error
    lines = text.encode().splitlines(keepends=True)
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line))
    raw, findings, out, at = text.encode(), [], [], 0
    for node in _strings(tree):
        start = starts[node.lineno - 1] + node.col_offset
        end = starts[node.end_lineno - 1] + node.end_col_offset
        literal = raw[start:end].decode()
        match = _LITERAL.match(literal)
        if match is None or start < at:
            continue
        head, quote = match[0], match["quote"]
        body = literal[len(head) : -len(quote)]
        done = translate(body, to=to, file=file, implicit=False)
        findings += [_moved(f, node.lineno) for f in done.findings]
        out += [raw[at:start], (head + done.text + quote).encode()]
        at = end
    return Translation(b"".join([*out, raw[at:]]).decode(), tuple(findings))


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

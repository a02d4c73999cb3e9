"""Device code inside Python files: strings that hold it are translated, the rest stays."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from kernelwright.core.errors import UsageError
from kernelwright.core.syntax import parse
from kernelwright.dialects.simt.source import Edit
from kernelwright.hipify.finding import Finding, State
from kernelwright.hipify.names import SUFFIXES
from kernelwright.hipify.python_names import python_changes
from kernelwright.hipify.python_strings import Literal
from kernelwright.hipify.translate import Translation, translation_edits

DEVICE_TEXT = re.compile(
    r"__global__|__device__|<<<|#include\s*<(cuda|hip)/?|\b(cuda|hip)[A-Z]\w+\("
)
_FILE = re.compile(r"[\w./*{}-]*\w*\.(?:cu|hip)\b")
_Changed = tuple[int, int, str]
"""An edit of a Python file: first and last character, and the new text."""


def translate_python(
    text: str, *, to: str = "hip", file: str = "", renamed: Mapping[str, str] | None = None
) -> Translation:
    """Translate the device code in the strings of ``text``, a Python file.

    Covers the sources given to ``load_inline`` and to runtime compilers, f-strings, strings that
    Python puts together, and the libraries, functions and options that the file names itself; and
    names of files that are ``renamed``. The line numbers of findings are the Python file's. Not
    covered: strings that are put together at run time, and files whose text is created then.

    Raises:
        UsageError: the text is not Python.
    """
    try:
        tree = parse(text)
    except (SyntaxError, ValueError) as error:
        raise UsageError(
            f"{file or 'the file'} is not Python", seen=str(error), do="mend it"
        ) from error
    places = _Places(text)
    findings: list[Finding] = []
    edits: list[_Changed] = []
    for node in _strings(tree):
        if _is_device_text(node):
            changed, found = _device_text(node, places, to, file)
            edits += changed
            findings += found
        else:
            for change, finding in _file_names(node, places, to, renamed or {}):
                edits.append(change)
                findings.append(replace(finding, file=file))
    if to == "hip":
        for (line, column, last, end), became, finding in python_changes(tree):
            findings.append(replace(finding, file=file))
            if became:
                edits.append((places.at(line, column), places.at(last, end), became))
    placed = sorted(findings, key=lambda finding: finding.line)
    return Translation(_edited(text, edits), tuple(placed))


def device_texts(text: str) -> tuple[str, ...]:
    """Return the strings of a Python file that hold device code, with their run-time values; empty
    if the text is not Python.

    Not among them: strings that have no value before the program runs (:func:`is_formatted`).
    """
    return tuple(str(node.value) for node in _kernels(text) if isinstance(node, ast.Constant))


def has_formatted_texts(text: str) -> bool:
    """Return whether a Python file has device code in strings that are formatted when it runs."""
    return any(isinstance(node, ast.JoinedStr) for node in _kernels(text))


def _kernels(text: str) -> list[ast.expr]:
    try:
        tree = parse(text)
    except (SyntaxError, ValueError):
        return []
    formatted = {id(node) for node in _formatted(tree)}
    return [
        ast.copy_location(ast.JoinedStr([]), node) if id(node) in formatted else node
        for node in _strings(tree)
        if "__global__" in _constant_text(node)
    ]


def _formatted(tree: ast.Module) -> Iterator[ast.expr]:
    """Yield the strings to which ``%`` or ``format`` is applied where they are written."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            yield node.left
        elif isinstance(node, ast.Attribute) and node.attr in ("format", "format_map", "replace"):
            yield node.value


def starts_of_lines(text: str) -> list[int]:
    """Return the offset in bytes at which each line begins."""
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


class _Places:
    """Where the lines of a Python file begin, in characters; Python counts columns in bytes."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._lines = text.encode().splitlines(keepends=True)
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line.decode()))

    def at(self, line: int, column: int) -> int:
        if line > len(self._lines):
            return len(self.text)
        return self._starts[line - 1] + len(self._lines[line - 1][:column].decode())

    def literal(self, node: ast.expr) -> Literal | None:
        """Return the literals of a string; None if they cannot be read."""
        start = self.at(node.lineno, node.col_offset)
        end = self.at(node.end_lineno or node.lineno, node.end_col_offset or 0)
        try:
            return Literal(self.text, start, end)
        except (ValueError, SyntaxError):
            return None


def _edited(text: str, edits: Iterable[_Changed]) -> str:
    parts, at = [], 0
    for start, end, became in sorted(edits, key=lambda edit: edit[:2]):
        if start >= at:
            parts += [text[at:start], became]
            at = end
    return "".join([*parts, text[at:]])


def _device_text(
    node: ast.expr, places: _Places, to: str, file: str
) -> tuple[list[_Changed], list[Finding]]:
    """Return the edits of one string that hold its translation."""
    literal = places.literal(node)
    if literal is None:
        reason = "the string's literals cannot be read one by one"
        advice = "write it as one string"
        return [], [Finding(node.lineno, State.UNPORTED, "device code", "", reason, advice, file)]
    text = literal.text.encode()
    edits, findings, _ = translation_edits(text, to=to, file=file, own=(), implicit=False)
    moved = [replace(finding, line=literal.line(finding.line)) for finding in findings]
    return list(literal.edits(edits)), moved


def _file_names(
    node: ast.expr, places: _Places, to: str, renamed: Mapping[str, str]
) -> Iterator[tuple[_Changed, Finding]]:
    """Yield the edits of names of files that have another name in the port, and of patterns."""
    if not renamed or not _FILE.search(_constant_text(node)):
        return
    literal = places.literal(node)
    if literal is None:
        return
    old, new = SUFFIXES[to]
    for match in _FILE.finditer(literal.text):
        name = match[0].rpartition("/")[2]
        is_pattern = "*" in name or "{" in name or name == old or "__field" in name
        if not name.endswith(old) or not (name in renamed or is_pattern):
            continue
        end = len(literal.text[: match.end()].encode())
        became = match[0].removesuffix(old) + new
        found = Finding(node.lineno, State.TRANSLATED, match[0], became)
        for change in literal.edits([Edit(end - len(old), end, new)]):
            yield change, found


def _constant_text(node: ast.expr) -> str:
    """Return what a string holds, without the fields of an f-string."""
    parts = node.values if isinstance(node, ast.JoinedStr) else [node]
    values = (part.value for part in parts if isinstance(part, ast.Constant))
    return "".join(value for value in values if isinstance(value, str))


def _is_device_text(node: ast.expr) -> bool:
    return DEVICE_TEXT.search(_constant_text(node)) is not None


def _strings(tree: ast.Module) -> list[ast.expr]:
    """Return the strings of a file in order, each f-string as a whole."""
    nodes = list(ast.walk(tree))
    parts = {
        id(inner)
        for node in nodes
        if isinstance(node, ast.JoinedStr)
        for inner in ast.walk(node)
        if inner is not node
    }
    found = [
        node
        for node in nodes
        if id(node) not in parts
        and (
            isinstance(node, ast.JoinedStr)
            or (isinstance(node, ast.Constant) and isinstance(node.value, str))
        )
    ]
    return sorted(found, key=lambda node: (node.lineno, node.col_offset))

"""A look at a candidate's text before a process is spent on it.

It settles only what no run could change: text that does not parse, that Python reads otherwise
than whoever looks at it, or that never binds the entry. It accuses nobody: what the code does is
judged by running it.
"""

from __future__ import annotations

import ast
import io
import tokenize

from kernelwright.core.candidate import Candidate
from kernelwright.core.outcome import Reason, ReasonCode
from kernelwright.core.syntax import UNREADABLE, parse


def screen(candidate: Candidate) -> Reason | None:
    """Why the text cannot be a candidate, or None."""
    try:
        tree = parse(candidate.source)
        encoding, text = _as_imported(candidate.source)
    except (*UNREADABLE, LookupError) as error:
        seen = f"the file does not parse: {type(error).__name__}: {error}"
        return Reason(ReasonCode.UNPARSABLE, seen)
    if text != candidate.source:
        seen = f"the file reads otherwise in {encoding}, which it names, than in UTF-8"
        return Reason(ReasonCode.OTHER_ENCODING, seen)
    if candidate.entry not in _bound_names(tree):
        classes = [node.name for node in tree.body if isinstance(node, ast.ClassDef)]
        others = f"; its classes: {', '.join(classes)}" if classes else ""
        return Reason(ReasonCode.NO_ENTRY, f"the file defines no {candidate.entry}{others}")
    return None


def _as_imported(source: str) -> tuple[str, str]:
    """The encoding that a file of this text names, and what Python takes the file for: what looks
    like a comment may be code in UTF-7."""
    data = source.encode()
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    return encoding, data.decode(encoding)


def _bound_names(tree: ast.Module) -> set[str]:
    """Every name that the file may bind at its top level; any at all after a star import."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            bound.add(node.value)  # globals()["ModelNew"] = …, exec("class ModelNew …")
            bound.update(node.value.replace("(", " ").replace(":", " ").split())
    return bound

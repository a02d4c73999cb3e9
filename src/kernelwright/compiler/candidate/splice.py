"""The reference's own text, taken apart by syntax-tree positions so that its formatting stays."""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable
from dataclasses import dataclass

from kernelwright.core.syntax import lines, parse
from kernelwright.loaders.inlined import brought_along

_SETUP = frozenset({"get_inputs", "get_init_inputs"})


@dataclass(frozen=True)
class Spliced:
    """Parts of the new file that come from the reference's text."""

    imports: tuple[str, ...]
    """One text each. The first, beginning with a comment, brings the author's own modules along,
    where the reference imports any."""
    definitions: str
    """Other classes, functions and constants that the class needs."""
    bases: str
    """What the class derives from, as written."""
    body: str
    """The class's body, indented, ``forward`` renamed to ``_reference_forward``."""
    signature: str
    """The parameters of ``forward`` as written, the first of them called ``self``; empty if the
    class inherits its forward."""

    @property
    def needs_payload(self) -> bool:
        """Whether the text opens a pickle, which no file has."""
        return "PAYLOAD" in self.definitions + self.body


def splice(source: str, entry: str, entry_new: str, *, renames: bool = True) -> Spliced:
    """The parts of ``source`` that a new class in place of ``entry`` needs.

    Without ``renames``, the class's forward keeps its name.

    Raises:
        LookupError: ``entry`` is not a class at the top level.
    """
    tree = parse(source)
    statements = {name: node for node in tree.body for name in defined_names(node)}
    model = statements.get(entry)
    if not isinstance(model, ast.ClassDef):
        raise LookupError(entry)
    forwards = [n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"]
    needed = _needed(model, statements) - {entry} - _SETUP | {"*"}  # which may be any name
    kept = list(dict.fromkeys(n for n in tree.body if needed & set(defined_names(n))))
    imports = [n for n in kept if isinstance(n, (ast.Import, ast.ImportFrom))]
    others = [n for n in kept if n not in imports]
    brought = [brought_along(source), *(text_of(source, node) for node in imports)]
    return Spliced(
        imports=tuple(filter(None, brought)),
        definitions=_joined(source, others),
        bases=", ".join(ast.unparse(base) for base in model.bases),
        body=_class_body(source, model, forwards[0] if forwards and renames else None, entry_new),
        signature=_signature(forwards[0]) if forwards else "",
    )


def _signature(forward: ast.FunctionDef) -> str:
    """The new forward's lines say ``self``, whatever the reference calls itself."""
    args = copy.deepcopy(forward.args)
    (args.posonlyargs or args.args)[0].arg = "self"
    return ast.unparse(args)


def defined_names(node: ast.stmt) -> Iterable[str]:
    """The names that a statement at the top level defines."""
    match node:
        case ast.Import() | ast.ImportFrom():
            return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
        case ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef():
            return [node.name]
        case ast.Assign() | ast.AnnAssign() | ast.AugAssign() | ast.If() | ast.Try() | ast.With():
            parts = list(ast.walk(node))
            stored = [n for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
            imports = [n for n in parts if isinstance(n, (ast.Import, ast.ImportFrom))]
            return [*(n.id for n in stored), *(name for n in imports for name in defined_names(n))]
    return []


def _needed(model: ast.stmt, statements: dict[str, ast.stmt]) -> set[str]:
    """Every top-level name that the class uses, directly or through other names."""
    found: set[str] = set()
    open_nodes: list[ast.stmt] = [model]
    while open_nodes:
        used = {n.id for n in ast.walk(open_nodes.pop()) if isinstance(n, ast.Name)}
        fresh = (used & statements.keys()) - found
        found |= fresh
        open_nodes += [statements[name] for name in fresh]
    return found


def text_of(source: str, node: ast.stmt) -> str:
    start = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return "\n".join(_lines(source)[start - 1 : node.end_lineno])


def _lines(source: str) -> list[str]:
    return [line.rstrip("\r\n") for line in lines(source)]


def _joined(source: str, nodes: list[ast.stmt]) -> str:
    """Statements one under the other: two empty lines around functions and classes."""
    text = ""
    for before, node in zip([None, *nodes], nodes, strict=False):
        big = any(isinstance(n, (ast.ClassDef, ast.FunctionDef)) for n in (before, node))
        text += ("\n\n\n" if big else "\n") * bool(before) + text_of(source, node)
    return text


def _class_body(source: str, model: ast.ClassDef, forward: ast.FunctionDef | None, new: str) -> str:
    texts = _lines(source)
    first = min([model.body[0].lineno, *(d.lineno for d in _decorators(model.body[0]))])
    if forward is not None:
        head = texts[forward.lineno - 1]
        head = re.sub(r"\bdef(\s+)forward\b", r"def\1_reference_forward", head, count=1)
        texts[forward.lineno - 1] = head
    names = [n for n in ast.walk(model) if isinstance(n, ast.Name) and n.id == model.name]
    for name in sorted(names, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        text = texts[name.lineno - 1].encode()
        head, tail = text[: name.col_offset], text[name.end_col_offset :]
        texts[name.lineno - 1] = (head + new.encode() + tail).decode()
    body = [text.rstrip() for text in texts[first - 1 : model.end_lineno]]
    return "\n".join(body)


def _decorators(node: ast.stmt) -> list[ast.expr]:
    return getattr(node, "decorator_list", [])

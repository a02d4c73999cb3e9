"""Names that a Python file uses, read from its syntax tree to recognise a candidate's dialect."""

from __future__ import annotations

import ast


def imports(tree: ast.Module) -> frozenset[str]:
    """Return the modules that a file imports, with every parent package: 'a.b' gives 'a' too.

    ``from a.b import c`` gives 'a.b.c' as well, since c may be a module.
    """
    found: set[str] = set()
    for node in ast.walk(tree):
        match node:
            case ast.Import(names=names):
                found.update(alias.name for alias in names)
            case ast.ImportFrom(module=str(module), names=names):
                found.add(module)
                found.update(f"{module}.{alias.name}" for alias in names)
    parts = (name.split(".") for name in found)
    return frozenset(".".join(p[: i + 1]) for p in parts for i in range(len(p)))


def calls(tree: ast.Module) -> frozenset[str]:
    """Return the last names of all calls: ``a.b.load_inline(...)`` gives 'load_inline'."""
    functions = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    names = (
        f.attr if isinstance(f, ast.Attribute) else f.id if isinstance(f, ast.Name) else ""
        for f in functions
    )
    return frozenset(names) - {""}


def keywords(tree: ast.Module) -> frozenset[str]:
    """Return the keyword names used in any call."""
    return frozenset(
        word.arg
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        for word in node.keywords
        if word.arg
    )

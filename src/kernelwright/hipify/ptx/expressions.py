"""C++ text of expressions and declarations: brackets, templates and lines."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

_TEMPLATE = re.compile(r"\$([A-Za-z]+)(\d?)")


def wrapped(head: str, names: Sequence[str]) -> Iterator[str]:
    """Yield declarations of at most 100 columns."""
    line = head
    for k, name in enumerate(names):
        piece = name + (";" if k + 1 == len(names) else ",")
        if len(line) + len(piece) > 98 and line != head:
            yield line.rstrip()
            line = " " * len(head)
        line += piece + " "
    yield line.rstrip()


def is_simple(text: str) -> bool:
    return len(text) <= 24 and re.fullmatch(r"[\w.]+|\(?-?[\w.]+\)?|\(u64\)&\w+", text) is not None


def is_atom(text: str) -> bool:
    """Return whether an operator before or behind an expression takes all of it: a name, a call, a
    cast of one, or brackets."""
    text = re.sub(r"^(\(\w+\))+", "", text)
    found = re.match(r"[\w:.]*(<\w+>)?", text)
    rest = text[found.end() :] if found else text
    return not rest or (rest.startswith("(") and _closing(rest) == len(rest) - 1)


def _closing(text: str) -> int:
    """Return where the bracket is closed that a text begins with."""
    depth = 0
    for at, mark in enumerate(text):
        depth += (mark == "(") - (mark == ")")
        if depth == 0:
            return at
    return -1


def plain(text: str) -> str:
    """Return an assignment without brackets around all that is assigned."""
    left, mark, right = text.partition(" = ")
    if mark and right.startswith("(") and _closing(right) == len(right) - 1:
        return f"{left} = {right[1:-1]}"
    return text


def filled(c: str, words: dict[str, str]) -> str:
    return _TEMPLATE.sub(lambda found: words[found[1] + found[2]], c)

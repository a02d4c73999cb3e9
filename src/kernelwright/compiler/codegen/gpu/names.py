"""Names in emitted text: the program's own names if they are free, otherwise with an underscore."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable

from kernelwright.compiler.ir.ir import Attention, Contraction, Kernel, Recurrence

WIDTH = 100
"""Largest width, in columns, of an emitted line."""


def function_name(step: Kernel | Contraction | Recurrence | Attention) -> str:
    """Return the name of a kernel's function; the suffix keeps it apart from tensors with the
    step's name."""
    return f"{step.name}_kernel"


def wrapped(head: str, groups: list[list[str]], tail: str) -> str:
    """Return ``head``, comma-separated groups and ``tail``: on one line, or with each group on its
    own line."""
    line = head + ", ".join(part for group in groups for part in group) + tail
    if len(line) <= WIDTH:
        return line
    inside = (
        text
        for group in groups
        if group
        for text in textwrap.wrap(", ".join(group) + ",", WIDTH - 8, break_long_words=False)
    )
    return "\n".join([head, *(f"    {text}" for text in inside), tail])


class Names:
    """Identifiers used so far in one emitted function."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, wanted: str) -> str:
        """Return an unused identifier like ``wanted``, and mark it as used."""
        name = re.sub(r"\W", "_", wanted)
        name = name if name and not name[0].isdigit() else f"v{name}"
        while name in self._taken or keyword.iskeyword(name) or name.startswith("__"):
            name = name.lstrip("_") + "_"
        self._taken.add(name)
        return name

    def fork(self) -> Names:
        """Return a copy; names that the copy hands out stay free in the original."""
        return Names(self._taken)


class Lines:
    """Text that grows line by line, with an indentation that the writer changes."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self.depth = depth

    def add(self, *lines: str) -> None:
        """Append lines at the current indentation."""
        self._lines.extend("    " * self.depth + line if line else "" for line in lines)

    def text(self) -> str:
        return "\n".join(self._lines)

"""Names in emitted text: the program's own where they are free, with an underscore where not."""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterable

from kernelwright.compiler.ir.ir import Attention, Contraction, Kernel, Recurrence

WIDTH = 100
"""Columns of an emitted line."""


def function_name(step: Kernel | Contraction | Recurrence | Attention) -> str:
    """The name of a kernel's function; a tensor may have the step's own name."""
    return f"{step.name}_kernel"


def wrapped(head: str, groups: list[list[str]], tail: str) -> str:
    """``head`` and comma-separated groups and ``tail``: on one line, or each group on its own."""
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
    """Identifiers given out so far in one emitted function."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def new(self, wanted: str) -> str:
        """An identifier like ``wanted`` that nobody has, now taken."""
        name = re.sub(r"\W", "_", wanted)
        name = name if name and not name[0].isdigit() else f"v{name}"
        while name in self._taken or keyword.iskeyword(name) or name.startswith("__"):
            name = name.lstrip("_") + "_"
        self._taken.add(name)
        return name

    def fork(self) -> Names:
        """A copy: what it gives out is free again where the copy is left."""
        return Names(self._taken)


class Lines:
    """Text that grows line by line, with an indentation that the writer moves."""

    def __init__(self, depth: int = 0) -> None:
        self._lines: list[str] = []
        self.depth = depth

    def add(self, *lines: str) -> None:
        """Append lines at the present indentation."""
        self._lines.extend("    " * self.depth + line if line else "" for line in lines)

    def text(self) -> str:
        return "\n".join(self._lines)

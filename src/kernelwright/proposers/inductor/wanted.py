"""What the readers of Inductor's C++ and Triton return: kernels, imports and their text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol


class Unsupported(Exception):
    """Generated code that cannot stand on its own; no error, since nobody asked for it."""


class Kernel(Protocol):
    """A kernel of the new file."""

    def launched(self, call: ast.Call) -> ast.expr:
        """The launch in place of Inductor's."""
        ...


@dataclass(frozen=True)
class Made:
    """The part of the new file that defines its kernels."""

    kernels: dict[str, Kernel]
    imports: tuple[str, ...]
    text: str

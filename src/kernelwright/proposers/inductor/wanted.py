"""The common result of converting Inductor's C++ and Triton: kernels, imports and their text."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from typing import Protocol


class NotStandalone(Exception):
    """Generated code cannot be made standalone. The caller then proposes nothing."""


class GeneratedKernel(Protocol):
    """A kernel of the new file."""

    def launched(self, call: ast.Call) -> ast.expr:
        """Return the launch that replaces Inductor's ``call``."""
        ...


@dataclass(frozen=True)
class Made:
    """The part of the new file that defines its kernels."""

    kernels: dict[str, GeneratedKernel]
    imports: tuple[str, ...]
    text: str

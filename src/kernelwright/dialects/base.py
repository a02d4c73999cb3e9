"""The interface of dialects: a language with its toolchain."""

from __future__ import annotations

import ast
from typing import Protocol

from kernelwright.core.device import Device


class Dialect(Protocol):
    """One small class per language; instances hold no state."""

    name: str

    def missing(self, device: Device) -> str | None:
        """What this machine lacks to build and run the dialect on ``device``, and how to get it.

        None when nothing is missing.
        """
        ...

    def is_timed(self, device: Device) -> bool:
        """Whether a time measured on ``device`` says anything (an interpreter's does not)."""
        ...

    def environment(self, device: Device) -> dict[str, str]:
        """Environment variables that a candidate's process needs to build and run."""
        ...

    def recognises(self, tree: ast.Module) -> bool:
        """Whether a file written by somebody else is in this dialect."""
        ...

"""The interface of dialects: a language with its toolchain."""

from __future__ import annotations

import ast
from typing import Protocol

from kernelwright.core.device import Device


class Dialect(Protocol):
    """A language; one small class each, whose instances hold no state."""

    name: str

    def missing(self, device: Device) -> str | None:
        """Return what this machine lacks to build and run the dialect on ``device``, and how to get
        it.

        None if nothing is missing.
        """
        ...

    def is_timed(self, device: Device) -> bool:
        """Return whether a time measured on ``device`` is meaningful (an interpreter's is not)."""
        ...

    def environment(self, device: Device) -> dict[str, str]:
        """Return environment variables that a candidate's process needs to build and run."""
        ...

    def recognises(self, tree: ast.Module) -> bool:
        """Return whether a file that kernelwright did not write is in this dialect."""
        ...

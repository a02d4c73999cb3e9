"""The description of a module that a child is asked to build."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelwright.judge.sandbox.entries import Path


@dataclass(frozen=True)
class LibrarySetup:
    """How the reference is set up under a library setting. It is trusted; no candidate has one."""

    payload: bytes | None = None
    """Data that the task's text refers to as ``PAYLOAD``."""
    folder: str = ""
    """The folder in the scratch that its file is written to, for the judge to remove."""
    import_roots: tuple[str, ...] = ()
    precision: str = ""
    """The reduced precision to run in; empty: its own."""
    is_held: bool = False
    """Whether weights are kept in that precision."""
    compile: Mapping[str, Any] | None = None
    """Arguments of ``torch.compile``; None runs it eagerly."""
    cuda_graph: bool = False


@dataclass(frozen=True)
class Program:
    """A source, its entry, and how to construct the module."""

    source: str
    entry: str
    initial: bytes
    """The pickled arguments of the constructor."""
    seed: int
    setup: LibrarySetup | None = None
    spare: tuple[str, ...] = ()
    """Weights that the module may do without."""
    may_expand: bool = False
    """Whether results may be expanded views, as the reference's own are."""
    entries: tuple[Path, ...] = ()
    """The places among its arguments that it puts results into."""

    @property
    def fills_fresh_memory(self) -> bool:
        """Whether fresh memory holds large numbers until the judge ends that: for candidates."""
        return self.setup is None

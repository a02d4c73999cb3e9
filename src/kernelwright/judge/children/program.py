"""What a child is told to make a module of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kernelwright.judge.machine.entries import Path


@dataclass(frozen=True)
class Program:
    """What a child is to run: a source, its entry and how to set it up."""

    source: str
    entry: str
    initial: list[Any]
    seed: int
    setting: dict[str, Any]
    spare: tuple[str, ...] = ()
    """The weights that a module may do without."""
    may_expand: bool = False
    """Whether results may be expanded views, as the reference's own are."""
    entries: tuple[Path, ...] = ()
    """Where among its arguments it puts results."""
    poisoned: bool = False
    """Whether memory that nobody has written to is not zero, until ``Runner.unpoison``."""

"""Plugins: dialects, proposers and loaders are found through entry points, ours like others'."""

from __future__ import annotations

import os
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from kernelwright.core.errors import UsageError, nearest


@cache
def names(group: str) -> tuple[str, ...]:
    """The names in a group. With KERNELWRIGHT_NO_PLUGINS set, only the built-in ones."""
    found = entry_points(group=group)
    if os.environ.get("KERNELWRIGHT_NO_PLUGINS"):
        found = found.select().__class__(e for e in found if e.value.startswith("kernelwright."))
    return tuple(sorted({entry.name for entry in found}))


@cache
def find(group: str, name: str) -> Any:
    """An instance of the class registered under ``name``.

    Raises:
        UsageError: no such name; the message names the nearest one.
    """
    if name not in names(group):
        kind = group.rpartition(".")[2].rstrip("s")
        raise UsageError(f'unknown {kind} "{name}"', seen=name, do=nearest(name, names(group)))
    (entry, *_) = entry_points(group=group, name=name)
    return entry.load()()

"""Plugins: dialects, proposers and loaders are found through entry points, ours like others'."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from kernelwright.core.errors import UsageError, nearest

OURS = "kernelwright."


@cache
def entries(group: str) -> Mapping[str, EntryPoint]:
    """The entry points of a group by name. With KERNELWRIGHT_NO_PLUGINS set, the built-in ones.

    Raises:
        UsageError: two have one name, or not even the built-in ones are registered.
    """
    found: dict[str, EntryPoint] = {}
    for entry in entry_points(group=group):
        if os.environ.get("KERNELWRIGHT_NO_PLUGINS") and not entry.value.startswith(OURS):
            continue
        other = found.setdefault(entry.name, entry)
        if other.value != entry.value:
            raise UsageError(
                f'two {group.rpartition(".")[2]} are called "{entry.name}"',
                seen=f"{_described(other)}; {_described(entry)}",
                do="uninstall the plugin that you do not want, or set KERNELWRIGHT_NO_PLUGINS=1 "
                "for the built-in ones alone",
            )
    if not any(entry.value.startswith(OURS) for entry in found.values()):
        raise UsageError(
            "kernelwright is not installed in this Python",
            seen=f'{sys.executable}, where nothing registers "{group}"',
            do="pip install -e . in its checkout: a folder on PYTHONPATH registers nothing",
        )
    return found


def names(group: str) -> tuple[str, ...]:
    """The names in a group."""
    return tuple(sorted(entries(group)))


@cache
def find(group: str, name: str) -> Any:
    """An instance of the class registered under ``name``.

    Raises:
        UsageError: no such name; the message names the nearest one. Or two have one name.
    """
    if name not in entries(group):
        kind = group.rpartition(".")[2].rstrip("s")
        raise UsageError(f'unknown {kind} "{name}"', seen=name, do=nearest(name, names(group)))
    return entries(group)[name].load()()


def _described(entry: EntryPoint) -> str:
    return f"{entry.value} of {entry.dist.name}" if entry.dist else entry.value

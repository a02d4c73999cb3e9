"""Triton's cache in a child to which the judge has given kernels that were compiled before.

Triton finds kernels by the content of source, options and compiler, and notes where the files of
one lie by their paths. In the child the given folder may only be read; what it lacks is compiled
into the child's own scratch.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from triton.runtime.cache import FileCacheManager

from kernelwright.judge.sandbox.isolation import READY_BUILDS


class ReadyBuilds(FileCacheManager):  # type: ignore[misc]  # Triton has no types
    """A cache that reads the scratch folder first, then the given one, and writes to the former."""

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        super().__init__(key, override, dump)
        self._given = Path(os.environ[READY_BUILDS], key)

    def get_file(self, filename: str) -> str | None:
        own: str | None = super().get_file(filename)
        at = self._given / filename
        return own or (str(at) if at.exists() else None)

    def get_group(self, filename: str) -> dict[str, str] | None:
        own: dict[str, str] | None = super().get_group(filename)
        group = self._given / f"__grp__{filename}"
        if own or not group.exists():
            return own
        names = json.loads(group.read_text())["child_paths"]
        return {name: str(self._given / name) for name in names}

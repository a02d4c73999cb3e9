"""Folders that are made once for a user and kept between processes."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept_folder(name: str, version: str, make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills, in the system's folder for temporary files.

    Made where there is none for this ``version`` of its content yet. Processes that make it at the
    same time get the same one.
    """
    key = hashlib.sha256(version.encode()).hexdigest()[:12]
    folder = Path(tempfile.gettempdir(), f"kernelwright-{name}-{os.getuid()}-{key}")
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=tempfile.gettempdir()) as scratch:
        made = Path(scratch, name)
        made.mkdir()
        make(made)
        try:
            made.rename(folder)
        except OSError:  # another process was first
            if not folder.exists():
                raise
    return folder

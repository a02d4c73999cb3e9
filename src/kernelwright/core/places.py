"""Places in the file system: their names as text, and whether they can be written."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def as_text(path: Path | str) -> str:
    """A path as text that can be stored and shown: bytes in it that are no text are escaped."""
    return os.fsencode(path).decode(errors="backslashreplace")


def require_folder(folder: Path | str) -> None:
    """Nothing where files can be written to a folder, which is made: asked before what takes long.

    Raises:
        OSError: they cannot.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()

"""Places that results will be written to."""

from __future__ import annotations

import tempfile
from pathlib import Path


def require_folder(folder: Path | str) -> None:
    """Nothing where files can be written to a folder, which is made: asked before what takes long.

    Raises:
        OSError: they cannot.
    """
    Path(folder).mkdir(parents=True, exist_ok=True)
    tempfile.TemporaryFile(dir=folder).close()

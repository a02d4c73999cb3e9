"""Scratch folders of a judge's children; folders that a killed judge has left are removed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

from kernelwright.judge.sandbox.file_locks import FOLDER, lock, locked, users_path


class Scratch:
    """A new folder, locked by this process until it is closed."""

    def __init__(self) -> None:
        prefix = users_path("scratch-")
        # Another judge would remove a new folder that is not locked yet.
        with locked(users_path("scratch.lock"), fcntl.LOCK_EX):
            _sweep(prefix)
            self.path = tempfile.mkdtemp(prefix=prefix.name, dir=prefix.parent)
            self._lock = lock(Path(self.path), fcntl.LOCK_EX, FOLDER)
        os.chmod(self.path, 0o711)

    def close(self) -> None:
        """Remove it and what is in it."""
        _remove(self.path)
        os.close(self._lock)


def _sweep(prefix: Path) -> None:
    """Remove this user's folders that no living judge holds."""
    for folder in prefix.parent.glob(f"{prefix.name}*"):
        # Its owner lives, or has removed it meanwhile, or it is another user's.
        with contextlib.suppress(OSError):
            held = lock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB, FOLDER)
            try:
                if os.fstat(held).st_uid == os.getuid():
                    _remove(folder)
            finally:
                os.close(held)


def _remove(folder: Path | str) -> None:
    """Remove a folder as far as possible, with folders in it that a candidate closed to itself.

    By programs: Python's own functions recurse and hold a file open for each level, and a candidate
    may nest folders deeper than that allows.
    """
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*command, "--", folder], stderr=subprocess.DEVNULL, check=False)

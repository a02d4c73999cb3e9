"""The folders in which judges' children have theirs; what a judge that was killed left is swept."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
import tempfile
from pathlib import Path

from kernelwright.judge.children.locks import FOLDER, lock, locked, users_path


class Scratch:
    """A new folder, locked by this process until it is closed."""

    def __init__(self) -> None:
        prefix = users_path("scratch-")
        # Or one that was made just now, and is not locked yet, would be swept by another.
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
    """Remove this user's folders that nobody holds any more."""
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
    """Remove a folder, as far as may be, those in it as well that a candidate closed to itself. Not
    by Python's own means, which recurse and hold a file open for each level: a candidate may nest
    folders deeper than that goes."""
    for command in (["chmod", "-R", "u+rwx"], ["rm", "-rf"]):
        subprocess.run([*command, "--", folder], stderr=subprocess.DEVNULL, check=False)

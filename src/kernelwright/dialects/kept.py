"""Folders that are made once for a user and kept between processes."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path


def kept_folder(name: str, version: str, make: Callable[[Path], None]) -> Path:
    """The folder that ``make`` fills, in the user's folder for caches.

    Made where there is none for this ``version`` of its content yet. Processes that make it at the
    same time get the same one. What is in it is compiled and run, so it is kept where nobody else
    may write; where there is no such place it is made for this process alone.
    """
    key = hashlib.sha256(version.encode()).hexdigest()[:12]
    root = _users_own() or _this_processs_own()
    folder = root / f"{name}-{key}"
    if folder.exists() and not _is_own(folder):
        root = _this_processs_own()
        folder = root / f"{name}-{key}"
    if folder.exists():
        return folder
    with tempfile.TemporaryDirectory(dir=root) as scratch:
        made = Path(scratch, name)
        made.mkdir(mode=0o700)
        make(made)
        try:
            made.rename(folder)
        except OSError:  # another process was first
            if not folder.exists():
                raise
    return folder


def _users_own() -> Path | None:
    """The user's folder for what is kept; None: none can be made, or others may write to it."""
    caches = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = Path(caches, "kernelwright", "dialects")
    try:
        root.parent.mkdir(parents=True, exist_ok=True)
        root.mkdir(mode=0o700, exist_ok=True)
    except OSError:
        return None
    return root if _is_own(root) and os.access(root, os.W_OK) else None


@functools.cache
def _this_processs_own() -> Path:
    root = tempfile.mkdtemp(prefix="kernelwright-")
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    return Path(root)


def _is_own(folder: Path) -> bool:
    """Whether it is a folder, and no link to one, that this user alone may write to."""
    found = folder.lstat()
    is_private = found.st_uid == os.getuid() and not found.st_mode & 0o022
    return stat.S_ISDIR(found.st_mode) and is_private

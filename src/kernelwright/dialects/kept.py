"""Folders that are made once per user and kept between processes."""

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
    """Return the folder that ``make`` fills, in the user's cache folder.

    It is made if there is none for this ``version`` of its content. Processes that make it at the
    same time get the same one. Its content is compiled and run, so it is kept where nobody else may
    write; if there is no such place, it is made for this process alone.
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
    """Return the user's folder for kept folders; None if it cannot be made, or others may write to
    it."""
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
    """Return whether it is a folder, not a link to one, that only this user may write to."""
    found = folder.lstat()
    is_private = found.st_uid == os.getuid() and not found.st_mode & 0o022
    return stat.S_ISDIR(found.st_mode) and is_private

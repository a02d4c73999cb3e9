"""File locks that all judges of a user on this machine share; a killed process releases them."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

FILE = os.O_RDWR | os.O_CREAT
FOLDER = os.O_RDONLY | os.O_DIRECTORY


def users_path(name: str) -> Path:
    """The path of a file or folder of this name that belongs to this user alone."""
    return Path(tempfile.gettempdir(), f"kernelwright-{os.getuid()}-{name}")


def lock(path: Path, how: int, kind: int = FILE) -> int:
    """A descriptor that holds the lock; closing it releases the lock, as being killed does."""
    flags = kind | os.O_CLOEXEC | os.O_NOFOLLOW  # anybody may write to /tmp
    descriptor = os.open(path, flags, 0o600)
    try:
        fcntl.flock(descriptor, how)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


@contextlib.contextmanager
def locked(path: Path, how: int) -> Iterator[None]:
    """Hold the lock while the context lasts."""
    descriptor = lock(path, how)
    try:
        yield
    finally:
        os.close(descriptor)

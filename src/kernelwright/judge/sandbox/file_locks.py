"""Files of one user that all of its judges on this machine share: locks, and folders to keep."""

from __future__ import annotations

import contextlib
import fcntl
import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

from kernelwright.core.errors import DeviceError

FILE = os.O_RDWR | os.O_CREAT
FOLDER = os.O_RDONLY | os.O_DIRECTORY
SHARED_MEMORY = Path("/dev/shm")
"""A folder that every process of a host finds under one name."""


def users_path(name: str) -> Path:
    """The path of a file or folder of this name that belongs to this user alone."""
    return Path(tempfile.gettempdir(), f"kernelwright-{os.getuid()}-{name}")


def lock_folder() -> Path:
    """The folder of the locks that all judges on this host must agree on, whatever their TMPDIR is.

    Not covered:
        Containers that have a ``/dev/shm`` of their own.
    """
    return SHARED_MEMORY if os.access(SHARED_MEMORY, os.W_OK) else Path(tempfile.gettempdir())


def users_folder(name: str) -> Path:
    """A folder of this user's that is kept between runs: in its home, or among temporary files if
    the home is read-only, as in containers, or missing; there only if no other user can have put
    anything into it.

    Raises:
        DeviceError: no folder can be used.
    """
    with contextlib.suppress(OSError, RuntimeError):
        root = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        at = root / "kernelwright" / f"{name}-{os.geteuid()}"  # sudo and containers keep homes
        at.mkdir(parents=True, exist_ok=True)
        if os.access(at, os.W_OK | os.X_OK):
            return at
    at = users_path(name)
    try:
        at.mkdir(mode=0o700, exist_ok=True)
        about = at.lstat()
        is_own = stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
        if is_own and not about.st_mode & 0o022:
            return at
        seen = f"{at}, which another user may write to"
    except OSError as error:
        seen = str(error)
    raise DeviceError(
        "judges have nowhere to keep their work",
        seen=seen,
        do="let XDG_CACHE_HOME name a folder of yours that can be written to",
    )


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

"""One judge at a time uses a device: others on this machine build meanwhile."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def exclusive(device: str) -> Iterator[None]:
    """Wait until no other judge of this user checks or measures on ``device``, and keep it so.

    Not covered:
        Other programs, and judges of other users.
    """
    name = f"kernelwright-{os.getuid()}-{device.replace(':', '-')}.lock"
    descriptor = os.open(Path(tempfile.gettempdir(), name), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # let go with the descriptor, a kill included
        yield
    finally:
        os.close(descriptor)

"""The process's streams as they are given: closed, full, or read by nobody."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator


def open_closed() -> None:
    """What is closed becomes /dev/null: the next file that is opened would be stdout otherwise."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def escape_what_cannot_be_written() -> None:
    """What stdout's encoding has no character for is escaped there, as Python does on stderr: an
    answer that took minutes is not lost to a locale."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def stdout_kept() -> Iterator[int]:
    """The descriptor of the real stdout; whatever else writes there, in any language, goes to
    stderr meanwhile."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield kept
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def silence_stdout() -> None:
    """What it did not take is not tried again when Python ends, which would be another error."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)

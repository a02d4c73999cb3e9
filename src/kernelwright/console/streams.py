"""Makes the process's standard streams safe to use: they may be closed, full or without reader."""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Iterator


def open_closed() -> None:
    """Open /dev/null for each closed stream; otherwise the next opened file would become stdout."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor
    sys.stdout = sys.stdout or os.fdopen(1, "w", closefd=False)
    sys.stderr = sys.stderr or os.fdopen(2, "w", closefd=False)


def escape_what_cannot_be_written() -> None:
    """Escape characters that stdout's encoding lacks, as Python does on stderr.

    An answer that took minutes must not be lost because of a locale.
    """
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def stdout_kept() -> Iterator[int]:
    """Yield a descriptor of the real stdout; all other output to stdout goes to stderr meanwhile.

    Output of C code is redirected too.
    """
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
    """Discard stdout's unwritten output, so that Python does not fail on it again at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.close(null)

"""Appends that wait on this machine's disk until the archive's server is back."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable
from pathlib import Path

import msgspec

from kernelwright.archive.appends import Append
from kernelwright.archive.errors import AwayError
from kernelwright.core.digest import digest
from kernelwright.core.errors import ArchiveError
from kernelwright.core.places import written_whole

SUFFIX, REFUSED = ".append", ".refused"
_LOG = logging.getLogger("kernelwright")


class Spool:
    """The folder of the appends that wait for one server; processes of a user share it."""

    def __init__(self, where: str) -> None:
        """``where``: the server's URL without its password."""
        states = os.environ.get("XDG_STATE_HOME") or os.path.expanduser("~/.local/state")
        name = digest("spool", where).removeprefix("b2:")[:20]
        self.folder = Path(states, "kernelwright", "spool", name)

    @property
    def is_known(self) -> bool:
        """Whether the server has been reached from this machine before."""
        return self.folder.is_dir()

    def make(self) -> None:
        """Note that the server was reached. Errors of the disk are left to ``put``."""
        try:
            self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            _LOG.warning("appends could not wait on this disk for their server: %s", error)

    def waiting(self) -> list[Path]:
        """The files of the appends that wait, in the order in which they were made."""
        return sorted(self.folder.glob(f"*{SUFFIX}"))

    def put(self, append: Append) -> None:
        """Let an append wait.

        Raises:
            OSError: it cannot be written.
        """
        with written_whole(self.folder / f"{append.id}{SUFFIX}") as partial:
            partial.write_bytes(msgspec.msgpack.encode(append))

    def replay(self, execute: Callable[[Append], None]) -> None:
        """Do what waits, in order. What the server refuses is set aside, with a warning.

        Raises:
            AwayError: the server is away; what has not been done still waits.
        """
        if not self.waiting():
            return
        with open(self.folder / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            for path in self.waiting():
                try:
                    execute(msgspec.msgpack.decode(path.read_bytes(), type=Append))
                except AwayError:
                    raise
                except (ArchiveError, msgspec.DecodeError) as error:
                    aside = path.rename(path.with_suffix(REFUSED))
                    _LOG.warning("%s was refused and is kept: %s", aside, error)
                else:
                    path.unlink()

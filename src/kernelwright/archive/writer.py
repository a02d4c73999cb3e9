"""Writes to an archive: at once, or on the disk first while its server is away."""

from __future__ import annotations

import logging
import threading
import time
from datetime import UTC, datetime

import sqlalchemy as sa

from kernelwright.archive import appends
from kernelwright.archive.appends import Append, FactsOfEnd, Finished, Rows
from kernelwright.archive.away import until_back
from kernelwright.archive.errors import AwayError, explained
from kernelwright.archive.spool import Spool
from kernelwright.core.ids import new_id

AGAIN_S = 5.0
"""Seconds between attempts to reach a server that is away."""
_LOG = logging.getLogger("kernelwright")


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


class Writer:
    """Does appends in the order in which they are given."""

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self._engine = engine.execution_options(writes=True)
        self._where = where
        self._spool = Spool(where) if engine.dialect.name == "postgresql" else None
        self._is_behind = False
        """Whether appends of this process, or of one that was killed, wait on the disk."""
        self._next_try_s = 0.0
        self._last = ""
        self._lock = threading.RLock()

    @property
    def is_known(self) -> bool:
        """Whether the archive's server has been reached from this machine before."""
        return self._spool is not None and self._spool.is_known

    def begin(self, *, writes: bool) -> None:
        """Begin with what processes have left that were killed while the server was away."""
        if self._spool is not None and writes:
            self._spool.make()
            self._is_behind = bool(self._spool.waiting())
            self.replay()

    def add(self, *parts: Rows | Finished | FactsOfEnd) -> None:
        """Add the parts in one transaction, or let them wait on the disk."""
        with self._lock:
            self._last = new_id(after=self._last)
            append = Append(self._last, parts)
            if self._spool is None:
                self._execute(append)
                return
            try:
                if self._is_behind and time.monotonic() < self._next_try_s:
                    raise AwayError(f"{self._where} cannot be reached", seen="as before", do="")
                self.replay()
                self._execute(append)
            except AwayError as error:
                self._put_off(append, error)

    def replay(self) -> None:
        """Do what waits on the disk, if anything of this process does.

        Raises:
            AwayError: the server is away.
        """
        with self._lock:
            if self._is_behind and self._spool is not None:
                self._spool.replay(self._execute)
                self._is_behind = False

    def close(self) -> None:
        """Wait until the server has everything; what it has not when it stays away is kept."""
        try:
            until_back(self.replay)()
        except AwayError as error:
            assert self._spool is not None
            _LOG.warning(
                "%s; %d appends wait in %s until this archive is opened here again",
                error.what,
                len(self._spool.waiting()),
                self._spool.folder,
            )

    def _put_off(self, append: Append, error: AwayError) -> None:
        assert self._spool is not None
        if not self._is_behind:
            _LOG.warning("%s; what is found meanwhile waits on the disk", error)
        self._is_behind, self._next_try_s = True, time.monotonic() + AGAIN_S
        try:
            self._spool.put(append)
        except OSError:  # the disk is full: nothing is left but to wait here
            until_back(self.replay)()
            until_back(self._execute)(append)

    def _execute(self, append: Append) -> None:
        with explained(self._where), self._engine.begin() as connection:
            appends.execute(connection, append)

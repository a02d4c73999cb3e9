"""What a database's errors mean for the user of an archive."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError

from kernelwright.core.errors import ArchiveError, DeviceError, KernelwrightError

# The primary result code is the low byte: https://www.sqlite.org/rescode.html
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_LOCKED = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_MACHINE = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_NOMEM}
_CLOSED_TO_US = {
    sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM, sqlite3.SQLITE_AUTH,
}  # fmt: skip
# States that begin so, and whole ones: PostgreSQL manual, appendix A
_SERVER_MACHINE = ("53",)  # insufficient resources
_SERVER_LOCKED = ("40", "55")  # transaction rollback, object not in prerequisite state
_SERVER_CLOSED = ("25006",)  # read-only transaction
_SERVER_FORBIDS = ("28", "42501")  # invalid authorization, insufficient privilege
_SERVER_DAMAGED = ("XX001", "XX002")  # data and index corrupted
_SERVER_AWAY = ("08", "57P")  # connection exception; shut down, crashed, or not started yet


class AwayError(ArchiveError):
    """The server cannot be reached now; it may be soon."""


@contextmanager
def explained(where: str) -> Iterator[None]:
    """Turn the database's errors into ours; ``where`` is the archive as the user named it."""
    try:
        yield
    except DBAPIError as error:
        raise _explain(error, where) from error


def is_locked(error: sqlite3.Error) -> bool:
    """Whether another process holds the database's lock."""
    return error.sqlite_errorcode & 0xFF in _LOCKED


def damaged(where: str, seen: str) -> ArchiveError:
    return ArchiveError(
        f"{where} is damaged, or is not an archive",
        seen=seen,
        do="name another archive, or move this file away and start afresh; "
        "`sqlite3 FILE .recover` may save what is in it",
    )


def foreign(where: str, tables: Sequence[str]) -> ArchiveError:
    return ArchiveError(
        f"{where} is not an archive, but a database of another program",
        seen=f"its tables: {', '.join(tables)}"[:200],
        do="name another archive; nothing in this one was changed",
    )


def _explain(error: DBAPIError, where: str) -> KernelwrightError:
    seen = str(error.orig).strip().partition("\n")[0]
    if isinstance(error, IntegrityError):
        return ArchiveError(
            f"{where} refuses a row that points to nothing or breaks a rule",
            seen=seen,
            do="add the task, the workload and the proposal before what refers to them",
        )
    code = getattr(error.orig, "sqlite_errorcode", None)
    if code is not None:
        return _explain_sqlite(code & 0xFF, where, seen)
    return _explain_server(error, where, seen)


def _explain_sqlite(code: int, where: str, seen: str) -> KernelwrightError:
    if code in _LOCKED:
        return _locked(where, seen)
    if code in _MACHINE:
        return full(where, seen)
    if code in _CLOSED_TO_US:
        return _closed(where, seen)
    if code in _DAMAGED:
        return damaged(where, seen)
    return _refused(where, seen)


def _explain_server(error: DBAPIError, where: str, seen: str) -> KernelwrightError:
    state = getattr(error.orig, "sqlstate", None) or ""
    if state.startswith(_SERVER_MACHINE):
        return full(where, seen)
    if state.startswith(_SERVER_LOCKED):
        return _locked(where, seen)
    if state.startswith(_SERVER_CLOSED):
        return _closed(where, seen)
    if state.startswith(_SERVER_FORBIDS):
        return ArchiveError(
            f"{where} does not allow this user what an archive needs",
            seen=seen,
            do="check the URL's user and password, and let that user make and write tables",
        )
    if state.startswith(_SERVER_DAMAGED):
        return ArchiveError(
            f"{where} is damaged", seen=seen, do="restore the database, or name another archive"
        )
    if state.startswith(_SERVER_AWAY) or (isinstance(error, OperationalError) and not state):
        return AwayError(
            f"{where} cannot be reached", seen=seen, do="check the URL and that the server runs"
        )
    return _refused(where, seen)


def only_readable(where: str, seen: str) -> ArchiveError:
    return ArchiveError(
        f"{where} may be read only",
        seen=seen,
        do="give a user who may write, or name another archive; `report` and `show` only read",
    )


def _closed(where: str, seen: str) -> ArchiveError:
    return ArchiveError(
        f"{where} cannot be opened for writing",
        seen=seen,
        do="check the path and its permissions, or name another archive",
    )


def _refused(where: str, seen: str) -> ArchiveError:  # a fault of ours, or of the database's
    return ArchiveError(
        f"{where} refused a statement",
        seen=seen,
        do="please report this; what is in the archive is unchanged",
    )


def _locked(where: str, seen: str) -> ArchiveError:
    return ArchiveError(
        f"{where} is locked by another process",
        seen=seen,
        do="wait for the other run to end its write, or name another archive",
    )


def full(where: str, seen: str) -> DeviceError:
    return DeviceError(
        f"{where} cannot be written: the machine has no room or its disk fails",
        seen=seen,
        do="free some disk space and run the same command again; what was written is kept",
    )

"""What a database's error codes mean to the user of an archive: only damage is told as damage."""

import sqlite3

import pytest
from sqlalchemy.exc import IntegrityError, OperationalError, ProgrammingError

from kernelwright.archive import Archive
from kernelwright.archive.connect import connect, parse
from kernelwright.archive.errors import explained
from kernelwright.core.errors import ArchiveError, KernelwrightError

SQLITE = {
    "SQLITE_ERROR": "refused a statement",
    "SQLITE_MISUSE": "refused a statement",
    "SQLITE_SCHEMA": "refused a statement",
    "SQLITE_TOOBIG": "refused a statement",
    "SQLITE_INTERRUPT": "refused a statement",
    "SQLITE_CORRUPT": "is damaged",
    "SQLITE_CORRUPT_VTAB": "is damaged",
    "SQLITE_NOTADB": "is damaged",
    "SQLITE_FORMAT": "is damaged",
    "SQLITE_BUSY": "is locked",
    "SQLITE_LOCKED": "is locked",
    "SQLITE_FULL": "cannot be written",
    "SQLITE_IOERR": "cannot be written",
    "SQLITE_NOMEM": "cannot be written",
    "SQLITE_READONLY": "cannot be opened for writing",
    "SQLITE_CANTOPEN": "cannot be opened for writing",
    "SQLITE_PERM": "cannot be opened for writing",
    "SQLITE_AUTH": "cannot be opened for writing",
}
SERVER = {  # PostgreSQL manual, appendix A
    "42501": (ProgrammingError, "does not allow this user"),  # insufficient_privilege
    "42703": (ProgrammingError, "refused a statement"),  # undefined_column
    "22001": (ProgrammingError, "refused a statement"),  # string_data_right_truncation
    "25006": (OperationalError, "cannot be opened for writing"),  # read_only_sql_transaction
    "28P01": (OperationalError, "does not allow this user"),  # invalid_password
    "40001": (OperationalError, "is locked"),  # serialization_failure
    "40P01": (OperationalError, "is locked"),  # deadlock_detected
    "53100": (OperationalError, "cannot be written"),  # disk_full
    "55P03": (OperationalError, "is locked"),  # lock_not_available
    "XX001": (OperationalError, "is damaged"),  # data_corrupted
    "XX002": (OperationalError, "is damaged"),  # index_corrupted
    "08006": (OperationalError, "cannot be reached"),  # connection_failure
    None: (OperationalError, "cannot be reached"),
    "23503": (IntegrityError, "refuses a row"),  # foreign_key_violation
}


def told(error):
    with pytest.raises(KernelwrightError) as raised, explained("a.sqlite"):
        raise error
    return raised.value


@pytest.mark.parametrize("name", SQLITE)
def test_codes_of_sqlite(name):
    original = sqlite3.OperationalError("words")
    original.sqlite_errorcode = getattr(sqlite3, name)
    error = told(OperationalError("SELECT", {}, original))
    assert SQLITE[name] in error.what and error.seen == "words"
    assert ("start afresh" in error.do) == (SQLITE[name] == "is damaged")


@pytest.mark.parametrize("state", SERVER)
def test_states_of_a_server(state):
    kind, what = SERVER[state]
    original = Exception("words")
    original.sqlstate = state
    error = told(kind("SELECT", {}, original))
    assert what in error.what and error.seen == "words"
    assert ".recover" not in error.do and "file" not in error.do


def test_a_fault_of_our_own_does_not_tell_anybody_to_move_the_archive_away(path):
    Archive(path).close()
    engine = connect(parse(path), create=False)
    with (
        pytest.raises(ArchiveError, match="refused a statement") as raised,
        explained(str(path)),
        engine.connect() as connection,
    ):
        connection.exec_driver_sql("SELECT nocolumn FROM no_table")
    assert "no such table" in raised.value.seen and "report" in raised.value.do


@pytest.mark.parametrize("target", ["sqlite://", "sqlite:///:memory:", ":memory:"])
def test_what_would_be_gone_when_it_is_closed_is_no_archive(target):
    with pytest.raises(ArchiveError, match=r"(?s)cannot be used as an archive.*in memory"):
        Archive(target)

"""The words of every error about archives, wrong options and failing disks."""

import errno
import sqlite3
from contextlib import closing

import pytest

from kernelwright.archive import Archive
from kernelwright.archive.connect import connect, parse
from kernelwright.archive.errors import explained
from kernelwright.core.errors import KernelwrightError


def damaged(path):
    path.write_bytes(b"no database" * 1000)
    Archive(path)


def foreign(path):
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE task (title TEXT)")
    Archive(path)


def newer(path):
    Archive(path).close()
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE alembic_version SET version_num = 'm999'")
    Archive(path)


def locked(path):
    run = "r"
    with (
        Archive(f"sqlite:///{path}?timeout=0.01") as archive,
        closing(sqlite3.connect(path)) as other,
    ):
        other.execute("BEGIN IMMEDIATE")
        archive.finish_run(run)


def absent(path):
    Archive(path, create=False)


def unknown_database(path):
    Archive("cassandra://host/archive")


def unknown_candidate(path):
    with Archive(path) as archive:
        archive.candidate("abc")


def full(path):
    Archive(path).close()
    engine = connect(parse(path), create=False)
    with explained(str(path)), engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA max_page_count = 1")
        connection.exec_driver_sql("CREATE TABLE more AS SELECT zeroblob(100000)")


def refused(path):
    Archive(path).close()
    engine = connect(parse(path), create=False)
    with explained(str(path)), engine.connect() as connection:
        connection.exec_driver_sql("SELECT nocolumn FROM no_table")


CASES = [
    damaged, foreign, newer, locked, absent, unknown_database, unknown_candidate, full, refused,
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_words(case, tmp_path, snapshot):
    with pytest.raises(KernelwrightError) as raised:
        case(tmp_path / "archive.sqlite")
    assert (
        f"{raised.value}\nexit code {raised.value.exit_code}".replace(str(tmp_path), "FOLDER")
        == snapshot
    )


def test_words_of_the_system(snapshot):
    from kernelwright.console.terminal import _from_system

    codes = (errno.ENOSPC, errno.EACCES, errno.EROFS)
    said = [str(_from_system(OSError(code, "words", "out/x.html"))) for code in codes]
    assert said == snapshot

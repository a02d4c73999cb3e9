"""Archives that are damaged, foreign, newer, locked, absent, or on a full disk."""

import contextlib
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.archive.connect import _use_wal
from kernelwright.core.errors import ArchiveError, DeviceError
from kernelwright.core.settings import Settings


def filled(path, n=30):
    with Archive(path) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings())
        for i in range(n):
            said = proposal(f"class ModelNew: x = {i}\n" + "#" * 2000)
            archive.add_proposal(run, said)
            archive.add_evaluation(run, verdict(said.candidate))
    return run


def test_a_file_that_is_no_database(path):
    path.write_text("this is not a database, and long enough to be read as a header" * 20)
    with pytest.raises(ArchiveError, match="damaged, or is not an archive"):
        Archive(path)


def test_a_file_cut_off(path):
    filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ArchiveError, match="damaged"), Archive(path) as archive:
        archive.history(TASK.digest)


def test_a_file_with_a_hole(path):
    filled(path)
    with path.open("r+b") as file:
        file.seek(4096)
        file.write(b"\x5a" * (path.stat().st_size - 4096))
    with pytest.raises(ArchiveError, match="damaged"), Archive(path) as archive:
        archive.history(TASK.digest)


FOREIGN = {
    "one table": "CREATE TABLE users (name TEXT)",
    "a table called as one of ours": "CREATE TABLE task (title TEXT)",
    "a view": "CREATE VIEW one AS SELECT 1",
    "another schema by alembic": "CREATE TABLE users (name TEXT);"
    "CREATE TABLE alembic_version (version_num TEXT); INSERT INTO alembic_version VALUES ('a1b2')",
    "alembic's table alone": "CREATE TABLE alembic_version (version_num TEXT)",
}  # fmt: skip


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("case", FOREIGN)
def test_a_database_of_another_program_is_left_as_it_was(path, case, create):
    with closing(sqlite3.connect(path)) as foreign:
        foreign.executescript(FOREIGN[case])
    before = path.read_bytes()
    with pytest.raises(ArchiveError, match="not an archive") as raised:
        Archive(path, create=create)
    assert "newer" not in str(raised.value)
    assert path.read_bytes() == before and list(path.parent.iterdir()) == [path]


def test_an_empty_database_becomes_an_archive(path):
    path.touch()
    with Archive(path) as archive:
        assert archive.tasks() == []


def test_an_archive_of_a_newer_version(path):
    filled(path, n=1)
    with closing(sqlite3.connect(path)) as newer, newer:
        newer.execute("UPDATE alembic_version SET version_num = 'm999'")
    with pytest.raises(ArchiveError, match="newer version") as raised:
        Archive(path)
    assert "m999" in raised.value.seen


def test_a_locked_archive_says_so_and_serves_readers(path):
    run = filled(path, n=1)
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN IMMEDIATE")
        with Archive(f"sqlite:///{path}?timeout=0.05") as archive:
            assert len(archive.history(TASK.digest)) == 1
            with pytest.raises(ArchiveError, match="locked"):
                archive.finish_run(run)


def test_an_archive_that_is_not_there_is_not_made_by_reading(path):
    with pytest.raises(ArchiveError, match="no archive"):
        Archive(path, create=False)
    assert not path.exists()


@pytest.mark.parametrize("url", ["mysqlx://nowhere/x", "://"])
def test_a_url_that_cannot_be_used(url, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ArchiveError, match="cannot be used"):
        Archive(url)


def test_a_folder_in_a_file(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ArchiveError, match="cannot be used"):
        Archive(tmp_path / "file" / "archive.sqlite")


def test_a_folder_where_the_file_should_be(tmp_path):
    (tmp_path / "archive.sqlite").mkdir()
    with pytest.raises(ArchiveError, match="opened for writing"):
        Archive(tmp_path)


def test_a_full_disk_is_the_machines_fault_and_loses_nothing(path):
    run = filled(path, n=1)
    # A limit on the size of files is the full disk that needs no root.
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    old = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Archive(path) as archive:
        before = archive.history(TASK.digest)
        resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 65536, old[1]))
        try:
            with pytest.raises(DeviceError, match="no room") as raised:
                archive.add_proposal(run, proposal("#" * 2_000_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, old)
        assert raised.value.exit_code == 3
        assert archive.history(TASK.digest) == before
        archive.add_proposal(run, proposal("#" * 2_000_000))


WRITER = """
import sys
sys.path.insert(0, sys.argv[2])
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict
from kernelwright.archive import Archive
from kernelwright.archive.connect import _use_wal
from kernelwright.core.settings import Settings
with Archive(sys.argv[1]) as archive:
    archive.add_task(TASK, [WORKLOAD])
    run = archive.start_run(TASK, Settings())
    for i in range(int(sys.argv[3])):
        said = proposal(f"class ModelNew: x = '{run} {i}'" + "#" * 5000)
        archive.add_proposal(run, said)
        archive.add_evaluation(run, verdict(said.candidate))
        print(i, flush=True)
"""


def writer(path, root, n=10**6):
    command = [sys.executable, "-c", WRITER, str(path), str(root), str(n)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_a_killed_writer_loses_nothing_that_was_written(path, pytestconfig):
    said = 0
    for kill_after in (1, 5, 9):
        child = writer(path, pytestconfig.rootpath)
        for _ in range(kill_after):
            child.stdout.readline()
        child.kill()
        said += kill_after + len(child.stdout.readlines())
        child.wait()
        child.stdout.close()
        with closing(sqlite3.connect(path)) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            assert database.execute("PRAGMA foreign_key_check").fetchall() == []
        with Archive(path, create=False) as archive:
            history = archive.history(TASK.digest)
        assert len(history) >= said
        assert all(found.timing.samples_ns["candidate"] == (10, 11, 12) for _, found in history)


def test_two_processes_create_write_and_read_at_once(path, pytestconfig):
    children = [writer(path, pytestconfig.rootpath, n=15) for _ in range(2)]
    children[0].stdout.readline()
    with Archive(path) as archive:
        while any(child.poll() is None for child in children):
            assert all(found.timing is not None for _, found in archive.history(TASK.digest))
        for child in children:
            child.stdout.close()
            assert child.wait() == 0
        assert len(archive.history(TASK.digest)) == 30


def test_a_copied_archive_is_whole(path, tmp_path):
    filled(path, n=3)
    copy = shutil.copy(path, tmp_path / "copy.sqlite")
    with Archive(copy, create=False) as archive:
        assert len(archive.history(TASK.digest)) == 3


@pytest.mark.parametrize(
    ("code", "times", "is_waited_for"),
    [(sqlite3.SQLITE_BUSY_RECOVERY, 2, True), (sqlite3.SQLITE_IOERR_READ, 1, False)],
)
def test_a_file_that_another_opens_first_is_waited_for(code, times, is_waited_for):
    fault = sqlite3.OperationalError("as SQLite says it")
    fault.sqlite_errorcode = code
    left = [fault] * times

    class Connection:
        def execute(self, text):
            if left:
                raise left.pop()

    told = contextlib.nullcontext() if is_waited_for else pytest.raises(sqlite3.OperationalError)
    with told:
        _use_wal(Connection())
    assert not left

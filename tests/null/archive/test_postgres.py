"""The archive on a PostgreSQL server that the test starts itself; skipped where there is none."""

import os
import pwd
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict

from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Exemplar
from kernelwright.core.errors import ArchiveError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings

psycopg = pytest.importorskip("psycopg")
PROGRAMS = [Path(found).parent for found in [shutil.which("pg_ctl")] if found]
PROGRAMS += sorted(Path("/usr/lib/postgresql").glob("*/bin"))  # where Debian keeps it
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="needs a PostgreSQL server's programs")


def as_owner(*command):
    """Run as an ordinary user: the server refuses to run as root."""
    user = {"user": "postgres"} if os.geteuid() == 0 else {}
    subprocess.run([str(word) for word in command], check=True, capture_output=True, **user)


class Server:
    """A PostgreSQL server of the test's own."""

    def __init__(self, folder):
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
            for parent in folder.parents:
                if parent.is_relative_to(tempfile.gettempdir()) and parent.stat().st_uid == 0:
                    parent.chmod(parent.stat().st_mode | 0o055)
        self._folder, self._data = folder, folder / "data"
        as_owner(PROGRAMS[-1] / "initdb", "--auth=trust", "--username=kw", "-N", "-D", self._data)
        self.start()

    def url(self, user="kw"):
        return f"postgresql://{user}@/postgres?host={self._folder}"

    def start(self):
        options = f"-c listen_addresses= -c unix_socket_directories={self._folder} -c fsync=off"
        self._control("-l", self._folder / "log", "-w", "-o", options, "start")

    def stop(self):
        self._control("-m", "immediate", "stop")

    def _control(self, *words):
        as_owner(PROGRAMS[-1] / "pg_ctl", "-D", self._data, *words)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    found = Server(tmp_path_factory.mktemp("postgres"))
    yield found
    found.stop()


@pytest.fixture
def url(server):
    return server.url()


def test_history_comes_back_equal_from_a_server(url):
    first, second = proposal(lineage=("fuse",)), proposal("other", cost_usd=0.1)
    with Archive(url) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings(archive=url))
        found, refused = verdict(first.candidate), verdict(second.candidate, Status.TIMEOUT)
        archive.add_proposal(run, first)
        archive.add_evaluation(run, found)
        archive.add_proposal(run, second, [Exemplar(first, found, "better")])
        archive.add_evaluation(run, refused)
        archive.finish_run(run)
    with Archive(url, create=False) as again:
        assert again.history(TASK.digest, device="cpu") == [(first, found), (second, refused)]
        assert again.tasks() == [TASK]
        assert again.candidate(first.candidate.digest[:20]) == first.candidate
        with pytest.raises(ArchiveError, match="points to nothing"):
            again.add_evaluation(run, verdict(Candidate("unknown", "cpp")))


def test_a_locked_table_says_so(url):
    with Archive(f"{url}&options=-clock_timeout%3D50") as archive, psycopg.connect(url) as other:
        other.execute("LOCK TABLE task")
        with pytest.raises(ArchiveError, match="locked"):
            archive.add_task(TASK)


def test_a_server_that_is_not_there():
    with pytest.raises(ArchiveError, match="cannot be reached"):
        Archive("postgresql://kw@/postgres?host=/nonexistent")


def test_a_server_that_is_away_for_a_moment_loses_nothing(server, url, caplog):
    with Archive(url) as archive:
        archive.add_task(TASK, [WORKLOAD])
        server.stop()
        back = threading.Timer(1.0, server.start)
        back.start()
        run = archive.start_run(TASK, Settings(archive=url))
        back.join()
        assert run in [one.id for one in archive.runs(TASK.digest)]
    assert caplog.text.count("trying again") == 1


def test_a_user_who_may_only_read_reports_and_is_told_before_a_search(server, url):
    """It was told after the first candidate had been judged."""
    with Archive(url) as archive, psycopg.connect(url) as connection:
        archive.add_task(TASK, [WORKLOAD])
        connection.execute("CREATE USER reader")
        connection.execute("GRANT SELECT ON ALL TABLES IN SCHEMA public TO reader")
    with Archive(server.url("reader"), create=False) as archive:
        assert TASK in archive.tasks()
    with pytest.raises(ArchiveError, match="read only"):
        Archive(server.url("reader"))

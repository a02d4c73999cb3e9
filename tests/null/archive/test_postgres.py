"""The archive on a PostgreSQL server that the test starts itself; skipped where there is none."""

import os
import pwd
import shutil
import subprocess
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


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    folder = tmp_path_factory.mktemp("postgres")
    if os.geteuid() == 0:
        os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        for parent in list(folder.parents)[:2]:
            parent.chmod(0o755)
    data, programs = folder / "data", PROGRAMS[-1]
    as_owner(programs / "initdb", "--auth=trust", "--username=kw", "--no-sync", "-D", data)
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    as_owner(programs / "pg_ctl", "-D", data, "-l", folder / "log", "-w", "-o", options, "start")
    yield f"postgresql://kw@/postgres?host={folder}"
    as_owner(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")


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

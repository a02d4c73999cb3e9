"""The archive on a PostgreSQL server that the test starts itself; skipped where there is none."""

import select
import socket
import subprocess
import sys
import threading

import pytest
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict
from tests.null.archive.server import PROGRAMS

from kernelwright.archive import Archive
from kernelwright.core.candidate import Candidate, Exemplar
from kernelwright.core.errors import ArchiveError
from kernelwright.core.outcome import Status
from kernelwright.core.settings import Settings

psycopg = pytest.importorskip("psycopg")
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="needs a PostgreSQL server's programs")


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


def test_writes_to_a_server_that_is_away_wait_on_the_disk(server, url, state, caplog):
    """A search went on to wait, and ended after ten minutes."""
    first, second = proposal("one"), proposal("two")
    with Archive(url) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings(archive=url))
        server.stop()
        for each in (first, second):
            archive.add_proposal(run, each)
            archive.add_evaluation(run, verdict(each.candidate))
        assert len(list(state.rglob("*.append"))) == 4
        server.start()
        found = [one.candidate for one in archive.evaluations(candidate=first.candidate.digest)]
        assert found == [first.candidate.digest]
        archive.finish_run(run)
    assert not list(state.rglob("*.append")) and caplog.text.count("waits on the disk") == 1
    with Archive(url) as archive:
        assert archive.runs(TASK.digest)[-1].finished_at
        assert [one.candidate for one in archive.proposals(run=run)] == [
            first.candidate,
            second.candidate,
        ]


KILLED = """
import os, sys
from tests.null.archive.nouns import TASK, proposal, verdict
from kernelwright.archive import Archive
from kernelwright.core.settings import Settings

archive = Archive(sys.argv[1])
run = archive.start_run(TASK, Settings())
print(run, flush=True)
input()
archive.add_proposal(run, proposal("killed"))
archive.add_evaluation(run, verdict(proposal("killed").candidate))
os.kill(os.getpid(), 9)
"""


def test_the_next_opening_adds_what_a_killed_process_had_written(server, url):
    with Archive(url) as archive:
        archive.add_task(TASK, [WORKLOAD])
    process = subprocess.Popen(
        [sys.executable, "-c", KILLED, url], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    run = process.stdout.readline().decode().strip()
    server.stop()
    process.communicate(b"\n")
    server.start()
    with Archive(url) as archive:
        [found] = archive.proposals(run=run)
        assert len(archive.evaluations(candidate=found.candidate.digest)) == 1


class Drops(threading.Thread):
    """A proxy before a server that loses the confirmation of the n-th commit that goes through."""

    def __init__(self, server_path, own_path, n):
        super().__init__(daemon=True)
        self._server_path, self._left = str(server_path), n
        self._entry = socket.socket(socket.AF_UNIX)
        self._entry.bind(str(own_path))
        self._entry.listen()

    def run(self):
        while True:
            client = self._entry.accept()[0]
            server = socket.socket(socket.AF_UNIX)
            server.connect(self._server_path)
            threading.Thread(target=self._pass_on, args=(client, server), daemon=True).start()

    def _pass_on(self, client, server):
        is_lost = False
        while True:
            for one in select.select([client, server], [], [])[0]:
                said = one.recv(1 << 16)
                if one is client and b"COMMIT" in said:
                    self._left -= 1
                    is_lost = self._left == 0
                if not said or (one is server and is_lost):
                    client.close()
                    server.close()
                    return
                (server if one is client else client).sendall(said)


@pytest.mark.parametrize("n", [1, 2])
def test_a_lost_confirmation_adds_nothing_twice(server, url, tmp_path, n):
    first = proposal(f"confirmed {n}")
    (tmp_path / "s").mkdir()
    with Archive(url) as archive:
        archive.add_task(TASK, [WORKLOAD])
        run = archive.start_run(TASK, Settings(archive=url))
    Drops(server.socket, tmp_path / "s" / ".s.PGSQL.5432", n).start()
    with Archive(f"postgresql://kw@/postgres?host={tmp_path / 's'}") as archive:
        archive.add_proposal(run, first)
        archive.add_evaluation(run, verdict(first.candidate))
        assert len(archive.proposals(run=run)) == 1
        [found] = archive.evaluations(candidate=first.candidate.digest)
        assert found == verdict(first.candidate)


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

"""Kills with -9 at random instants while verdicts are written, and what is lost or doubled after.

    python benchmarks/kill_table.py [--kills 20]

Two writers add verdicts to a PostgreSQL server of their own and say each once the archive has taken
it. Killed are the database with all its processes, which starts again a second later; a writer; and
a writer while the database is away. What was killed is started again. At the end each verdict that
was said must be in the archive exactly once. Needs the server's programs, as Debian's package
postgresql has them.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
import psycopg

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
CAUSES = ("database", "writer", "writer, database away")
WRITER = """
import sys
from tests.null.archive.nouns import TASK, WORKLOAD, proposal, verdict
from kernelwright.archive import Archive
from kernelwright.core.settings import Settings

with Archive(sys.argv[1]) as archive:
    archive.add_task(TASK, [WORKLOAD])
    run = archive.start_run(TASK, Settings())
    print("ready", flush=True)
    for number in range(int(sys.argv[3])):
        said = proposal(f"{sys.argv[2]} {number}")
        archive.add_proposal(run, said)
        archive.add_evaluation(run, verdict(said.candidate))
        print(said.candidate.digest, flush=True)
        if sys.stdin.read(1) != "g":
            break
"""


class Database:
    """A PostgreSQL server of the benchmark's own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if os.geteuid() == 0:
            os.chown(folder, pwd.getpwnam("postgres").pw_uid, -1)
        self._run("initdb", "--auth=trust", "--username=kw", "-N", "-D", folder / "data")
        self.start()
        self.url = f"postgresql://kw@/postgres?host={folder}"

    def start(self) -> None:
        options = f"-c listen_addresses= -c unix_socket_directories={self.folder}"
        words = ("-D", self.folder / "data", "-l", self.folder / "log", "-w", "-t", 300)
        for _ in range(60):  # memory of killed processes is in use until the last of them is gone
            with contextlib.suppress(subprocess.CalledProcessError):
                return self._run("pg_ctl", *words, "-o", options, "start")
            time.sleep(1.0)
        raise click.ClickException(f"the database does not start: see {self.folder}/log")

    def kill(self) -> None:
        """Kill the server and all its processes, which are one group."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        os.killpg(os.getpgid(main), signal.SIGKILL)

    def _run(self, program: str, *words: object) -> None:
        user = "postgres" if os.geteuid() == 0 else None
        command = [str(PROGRAMS[-1] / program), *map(str, words)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=user)


class Writer:
    """A process that adds verdicts as long as it is told to go on."""

    def __init__(self, url: str, name: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, url, name, "1000000"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            bufsize=1,
        )
        self.said: list[str] = []
        self._next()

    def _next(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def go_on(self, until_s: float) -> None:
        """Take what it says, and let it write the next, until then."""
        assert self._process.stdin is not None
        while time.monotonic() < until_s and (digest := self._next()):
            self.said.append(digest)
            self._process.stdin.write("g")
            self._process.stdin.flush()

    def kill(self) -> list[str]:
        self._process.kill()
        self._process.wait()
        return self.said

    def end(self) -> list[str]:
        """Take the last that it says, and let it close its archive."""
        assert self._process.stdin is not None
        if digest := self._next():
            self.said.append(digest)
        self._process.stdin.close()
        self._process.wait()
        return self.said


def killed(database: Database, cause: str, kills: int, draw: random.Random) -> tuple[int, int, int]:
    """Kill so often, with two writers at work; the verdicts that were said, lost and doubled."""
    writers = [Writer(database.url, f"{cause} {name}") for name in "ab"]
    said: list[str] = []
    for number in range(kills):
        for writer in writers:
            writer.go_on(time.monotonic() + draw.uniform(0.05, 0.4))
        if cause != "writer":
            time.sleep(draw.uniform(0.0, 0.05))
            database.kill()
        for writer in reversed(writers):  # the first one is told last, and is killed at work
            writer.go_on(time.monotonic() + draw.uniform(0.05, 0.5))
        time.sleep(draw.uniform(0.0, 0.05))
        if cause != "database":
            said += writers[0].kill()
        if cause != "writer":
            time.sleep(1.0)
            database.start()
        if cause != "database":  # the next one adds what this one had left on the disk
            writers[0] = Writer(database.url, f"{cause} {number}")
    for writer in writers:
        said += writer.end()
    query = "SELECT candidate, count(*) FROM evaluation GROUP BY candidate"
    with psycopg.connect(database.url) as connection:
        there = dict(connection.execute(query).fetchall())
    counts = [there.get(digest, 0) for digest in said]
    return len(said), counts.count(0), sum(count > 1 for count in counts)


@click.command(help=__doc__)
@click.option("--kills", default=20, show_default=True)
@click.option("--seed", default=0, show_default=True)
def main(kills: int, seed: int) -> None:
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        os.environ["XDG_STATE_HOME"] = f"{folder}/state"
        place = Path(folder, "db")
        place.mkdir()
        database = Database(place)
        click.echo(f"{'killed':24}{'kills':>8}{'said':>8}{'lost':>8}{'doubled':>9}")
        for cause in CAUSES:
            n_said, n_lost, n_doubled = killed(database, cause, kills, draw)
            click.echo(f"{cause:24}{kills:>8}{n_said:>8}{n_lost:>8}{n_doubled:>9}")
        database.kill()


if __name__ == "__main__":
    main()

"""Kills with -9 of what does the work, at random instants, and what is lost or done twice after.

    python benchmarks/kill_work.py [--kills 20] [--within SECONDS] [--only bench,server,node,head]

Killed are `bench` on one machine; `kernelwright serve`; a node of a Ray cluster under `judge`,
which goes on; and the head of one. What was killed is started again for each kill, and then once
more to its end. Nothing is timed, so that a verdict takes a second or two. For each:
tasks or candidates without a result at the end; verdicts that an archive holds twice; verdicts that
were there after the last kill, and so were not judged again; the seconds for which processes lived
on after a kill (median and most); and files that are left among the temporary ones. The last two
need Ray.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import psutil

from kernelwright.archive import Archive

PORT, RAY_PORT = 8679, 8680
N_TASKS, A_KILL = 3, 3
"""Tasks of a bench, and candidates for each kill of a node."""
LASTING = re.compile(r"torchinductor|\.lock$")
"""Names of temporary files that are meant to stay: a cache, and locks."""
Instants = Iterator[float]
"""Seconds from a start to a kill."""
RAYLET = "raylet"
"""Ray's name of the program that is a node."""
LONGEST_S = 60.0
"""Seconds after which a process that lives on is counted as left."""
TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1
def get_inputs():
    return [torch.randn(256, 256)]
def get_init_inputs():
    return []
"""
RIGHT = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.clamp(x, min=0).mul_(2).add_(1)
"""
BENCH = """
import sys
from pathlib import Path
from kernelwright import bench
from kernelwright.core.settings import Settings
from kernelwright.suites.suite import suite_entries
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for

folder, cluster = Path(sys.argv[1]), sys.argv[2]
settings = Settings(
    archive=str(folder / "a.sqlite"), out=str(folder), timed=False, budget_s=300.0, threads=1
)
entries = suite_entries("folder", device="cpu", path=folder / "tasks")
with workers_for("cpu", WorkersAsked(cluster=cluster)) as workers:
    found = bench.run(entries, settings=settings, workers=workers, limit_s=900)
sys.exit(any(outcome.error is not None or outcome.chapter is None for outcome in found))
"""


@dataclass
class Row:
    """What the kills of one cause came to."""

    n_lost: int = 0
    n_resumed: int = 0
    n_ended: int = 0
    """How often a command that should go on ended with an error, and was begun again."""
    outlived_s: list[float] = field(default_factory=list)


def verdicts(folder: Path) -> Counter[tuple[str, str]]:
    """How often each candidate of each task was judged."""
    with Archive(folder / "a.sqlite") as archive:
        found = [one for task in archive.tasks() for one in archive.evaluations(task=task.digest)]
    return Counter((one.task, one.candidate) for one in found)


def kill(process: subprocess.Popen[bytes]) -> float:
    """Kill a process, and wait for all that it had started; the seconds that these lived on."""
    started = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    process.wait()
    return seconds_until_ended(started)


def seconds_until_ended(processes: Sequence[psutil.Process]) -> float:
    """Wait for processes to end, for ``LONGEST_S`` at most. The second or two that some machines'
    init takes to note the end of an orphan do not count."""
    began_s = time.monotonic()
    while any(map(_is_alive, processes)) and time.monotonic() < began_s + LONGEST_S:
        time.sleep(0.02)
    return time.monotonic() - began_s


def _is_alive(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.NoSuchProcess):
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    return False


def with_kills(
    start: Callable[[], subprocess.Popen[bytes]], kills: int, row: Row, instants: Instants
) -> None:
    """Start so often, and kill each time at an instant."""
    for _ in range(kills):
        process = start()
        time.sleep(next(instants))
        if process.poll() is None:
            row.outlived_s.append(kill(process))


def write_tasks(folder: Path) -> None:
    (folder / "tasks").mkdir()
    for n in range(N_TASKS):
        (folder / "tasks" / f"times_{n}.py").write_text(TASK.replace("* 2", f"* {n + 2}"))


def killed_bench(folder: Path, kills: int, instants: Instants) -> Row:
    """Kill `bench` on one machine."""
    write_tasks(folder)

    def start() -> subprocess.Popen[bytes]:
        return subprocess.Popen([sys.executable, "-c", BENCH, str(folder), ""])

    row = Row()
    with_kills(start, kills, row, instants)
    row.n_resumed = verdicts(folder).total()
    row.n_lost = N_TASKS if start().wait() else 0
    return row


def killed_server(folder: Path, kills: int, instants: Instants) -> Row:
    """Kill `kernelwright serve` while it judges candidates that were sent at the start."""
    words = ["serve", "--port", PORT, "--archive", folder / "a.sqlite", "--out", folder / "out"]

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "kernelwright", *map(str, words)]
        return subprocess.Popen(command, cwd=folder)

    row = Row()
    (folder / "kernelwright.toml").write_text("timed = false\n")
    server = start()
    for number in range(kills):
        ask("verdicts", name="relu", task=TASK, candidate=f"{RIGHT}# {number}\n")
    row.outlived_s.append(kill(server))
    with_kills(start, kills - 1, row, instants)
    row.n_resumed = verdicts(folder).total()
    server = start()
    while any(job["state"] in ("waiting", "running") for job in ask("jobs")):
        time.sleep(1.0)
    row.n_lost = kills - sum(job["state"] == "done" for job in ask("jobs"))
    kill(server)
    return row


def ask(path: str, **told: str) -> Any:
    """Ask the server as soon as it answers."""
    asked = urllib.request.Request(
        f"http://127.0.0.1:{PORT}/v1/{path}",
        data=json.dumps(told).encode() if told else None,
        headers={"Content-Type": "application/json"},
    )
    while True:
        try:
            with urllib.request.urlopen(asked, timeout=60) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            raise click.ClickException(error.read().decode()) from error
        except OSError:
            time.sleep(0.3)


def killed_node(folder: Path, kills: int, instants: Instants) -> Row:
    """Kill one of two nodes while candidates are judged, and let another join."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0})
    cluster.add_node(num_cpus=1)
    node = cluster.add_node(num_cpus=1)
    (folder / "task.py").write_text(TASK)
    (folder / "candidates").mkdir()
    for number in range(kills * A_KILL):
        (folder / "candidates" / f"{number}.py").write_text(f"{RIGHT}# {number}\n")
    (folder / "kernelwright.toml").write_text("timed = false\n")
    words = ["judge", "task.py", "candidates", "--cluster", cluster.address]
    command = [sys.executable, "-m", "kernelwright", *words, "--archive", "a.sqlite"]

    def judge() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)

    row, judging = Row(), judge()
    for _ in range(kills):
        time.sleep(next(instants))
        if judging.poll() is not None:  # a part of the folder was lost too often
            row.n_ended += 1
            judging = judge()
        started = [each.process.pid for each in node.all_processes[RAYLET]]
        children = psutil.Process(started[0]).children(recursive=True)
        cluster.remove_node(node, allow_graceful=False)
        row.outlived_s.append(seconds_until_ended(children))
        row.n_resumed = verdicts(folder).total()
        node = cluster.add_node(num_cpus=1)
    if judging.wait():
        row.n_ended += 1
        judge().wait()
    cluster.shutdown()
    row.n_lost = kills * A_KILL - len(verdicts(folder))
    return row


def killed_head(folder: Path, kills: int, instants: Instants) -> Row:
    """Kill the head of a cluster of one host under `bench`, which ends with an error then."""
    head: list[subprocess.Popen[bytes]] = []

    def start_head() -> None:
        words = ["start", "--head", f"--port={RAY_PORT}", "--num-cpus=1", "--block"]
        words += ["--include-dashboard=false", f"--temp-dir={folder}/ray"]
        command = [sys.executable, "-m", "ray.scripts.scripts", *words]
        head.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
        while not _listens(RAY_PORT):
            time.sleep(0.3)

    def kill_head() -> None:
        processes = psutil.Process(head[-1].pid).children(recursive=True)
        for process in [head[-1], *processes]:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        head[-1].wait()

    os.environ |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(16)}
    row = Row()
    command = [sys.executable, "-c", BENCH, str(folder), f"127.0.0.1:{RAY_PORT}"]
    write_tasks(folder)
    for _ in range(kills):
        start_head()
        bench = subprocess.Popen(command)
        time.sleep(next(instants))
        kill_head()
        began_s = time.monotonic()
        with contextlib.suppress(subprocess.TimeoutExpired):
            bench.wait(LONGEST_S)
        row.outlived_s.append(time.monotonic() - began_s)
        if bench.poll() is None:
            kill(bench)
    row.n_resumed = verdicts(folder).total()
    start_head()
    row.n_lost = N_TASKS if subprocess.run(command, check=False).returncode else 0
    kill_head()
    return row


def _listens(port: int) -> bool:
    with socket.socket() as made:
        return made.connect_ex(("127.0.0.1", port)) == 0


CAUSES: dict[str, Callable[[Path, int, Instants], Row]] = {
    "bench": killed_bench,
    "server": killed_server,
    "node": killed_node,
    "head": killed_head,
}


@click.command(help=__doc__)
@click.option("--kills", default=20, show_default=True)
@click.option("--seed", default=0, show_default=True)
@click.option("--within", default=20.0, show_default=True, help="Kill before so many seconds.")
@click.option("--only", default=",".join(CAUSES), show_default=True)
def main(kills: int, seed: int, within: float, only: str) -> None:
    draw = random.Random(seed)
    instants = iter(lambda: draw.uniform(0.1, within), None)
    heads = ("kills", "verdicts", "resumed", "lost", "twice", "lived on s", "files left")
    click.echo(f"{'killed':10}" + "".join(f"{head:>12}" for head in heads))
    for cause in only.split(","):
        with tempfile.TemporaryDirectory(prefix="kw-") as place:
            folder = Path(place)
            (folder / "tmp").mkdir()
            os.environ["TMPDIR"] = str(folder / "tmp")
            Archive(folder / "a.sqlite").close()
            row = CAUSES[cause](folder, kills, instants)
            found = verdicts(folder)
            n_twice = sum(n > 1 for n in found.values())
            lived = f"{statistics.median(row.outlived_s):.1f}, {max(row.outlived_s):.1f}"
            left = [
                path.name for path in (folder / "tmp").iterdir() if not LASTING.search(path.name)
            ]
            values = (len(row.outlived_s), found.total(), row.n_resumed, row.n_lost, n_twice, lived)
            click.echo(f"{cause:10}" + "".join(f"{value:>12}" for value in (*values, len(left))))
            click.echo(f"  ended with an error: {row.n_ended}", err=True)
            click.echo(f"  left: {', '.join(sorted(left)[:6])}", err=True)


if __name__ == "__main__":
    main()

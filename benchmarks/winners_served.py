"""How many winners of an archive serve each way in which a program uses a module.

    python benchmarks/winners_served.py ARCHIVE [--limit 60] [--seed 0] [--slow] [--gpus 4]

Each winner is tried in a process of its own: a fault of one does not end the others. Prints a table
of the uses, and every use that is a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from rich.console import Console
from rich.table import Table

from kernelwright.archive import Archive, ranking
from kernelwright.core.task import Task
from kernelwright.search.result import Result, write_source

LIMIT_S = 150
OUTCOMES = ("served", "missed", "refused", "impossible", "wrong", "raised")


def winners(archive: Archive) -> list[tuple[Task, str]]:
    """The tasks with a kernel that beats the library, and the kernel's digest."""
    found = ((task, ranking.best(archive.history(task.digest))) for task in archive.tasks())
    return [(task, best[0].candidate.digest) for task, best in found if best is not None]


def tried(target: str, digest: str, *, slow: bool) -> list[dict[str, Any]]:
    """The uses of one winner, tried in this process."""
    import kernelwright as kw

    with Archive(target, create=False) as archive, tempfile.TemporaryDirectory() as folder:
        (task,) = (task for task, candidate in winners(archive) if candidate == digest)
        best = ranking.best(archive.history(task.digest))
        assert best is not None
        path = write_source(best[0].candidate, Path(folder), "winner")
        result = Result(task, *best, [], "", path, target)
        return [dataclasses.asdict(use) for use in kw.uses(result, slow=slow)]


def run_one(
    target: str, digest: str, *, slow: bool, gpus: SimpleQueue[int] | None
) -> list[dict[str, Any]]:
    """The same in a process of its own, on a GPU that is free."""
    gpu = None if gpus is None else gpus.get()
    variables = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)}
    command = [sys.executable, __file__, target, "--one", digest, *(["--slow"] if slow else [])]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
            env={**os.environ, **variables},
        )
    except subprocess.TimeoutExpired:
        return [{"name": "all", "outcome": "raised", "detail": f"took more than {LIMIT_S} s"}]
    finally:
        if gpus is not None and gpu is not None:
            gpus.put(gpu)
    if done.returncode:
        why = f"exit code {done.returncode}: {done.stderr.strip()[-300:]}"
        return [{"name": "all", "outcome": "raised", "detail": why}]
    uses: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    return uses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("archive")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", action="store_true", help="AOTInductor too")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--total-s", type=float, default=3600.0, help="stop waiting after this")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(tried(given.archive, given.one, slow=given.slow)))
        return
    with Archive(given.archive, create=False) as archive:
        found = winners(archive)
    chosen = random.Random(given.seed).sample(found, min(given.limit, len(found)))
    gpus: SimpleQueue[int] | None = SimpleQueue() if given.gpus else None
    n_jobs = given.jobs
    if gpus is not None:
        n_jobs = given.gpus * given.jobs
        for number in range(n_jobs):
            gpus.put(number % given.gpus)
    counts: dict[str, Counter[str]] = {}
    faults = []
    pool = ThreadPoolExecutor(n_jobs)
    waiting = {
        pool.submit(run_one, given.archive, digest, slow=given.slow, gpus=gpus): (task, digest)
        for task, digest in chosen
    }
    n_done = 0
    with contextlib.suppress(TimeoutError):
        for done in as_completed(waiting, timeout=given.total_s):
            task, digest = waiting[done]
            n_done += 1
            for use in done.result():
                counts.setdefault(use["name"], Counter())[use["outcome"]] += 1
                if use["outcome"] in ("wrong", "raised"):
                    faults.append(f"{task.name} {digest}: {use['name']}: {use['detail']}")
    table = Table("use", *OUTCOMES, title=f"{n_done} winners of {len(found)}")
    for name, outcomes in counts.items():
        table.add_row(name, *(str(outcomes[outcome] or "") for outcome in OUTCOMES))
    console = Console(width=120)
    console.print(table)
    for fault in faults:
        console.print(fault, soft_wrap=True, markup=False)
    sys.stdout.flush()
    os._exit(0)  # past its time, nobody waits for the processes that still run


if __name__ == "__main__":
    main()

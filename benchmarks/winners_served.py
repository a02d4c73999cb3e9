"""How many winners of an archive serve each way in which a program uses a module.

    python -m benchmarks.winners_served ARCHIVE [--limit 60] [--seed 0] [--slow] [--gpus 4]
    python -m benchmarks.winners_served CHECKOUT --first [--limit 60] [--seed 0] [--slow] [--gpus 4]

With ``--first``, the first candidates of the rules for problems of a checkout of KernelBench take
the place of winners. Each winner is tried in a process of its own: a fault of one does not end the
others. Prints a table of the uses, and every use that is a fault.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, replace
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.real_modules import emitted
from rich.console import Console
from rich.table import Table

from kernelwright.archive import Archive, ranking
from kernelwright.core.task import Task
from kernelwright.runtime.uses import ways
from kernelwright.search.result import Result, write_source
from kernelwright.suites.suite import suite_entries

LIMIT_S = 150
BATCH = 16
OUTCOMES = ("served", "missed", "refused", "impossible", "wrong", "raised")


def winners(archive: Archive) -> list[tuple[Task, str]]:
    """The tasks with a kernel that beats the library, and the kernel's digest."""
    found = ((task, ranking.best(archive.history(task.digest))) for task in archive.tasks())
    return [(task, best[0].candidate.digest) for task, best in found if best is not None]


def problems(checkout: str) -> dict[str, Task]:
    """The problems of KernelBench's levels 1 to 3, by level and name, with small batches: one GPU
    has no memory for many whole ones at once."""
    entries = suite_entries("kernelbench", device="cuda", path=Path(checkout), levels=(1, 2, 3))
    small = re.compile(r"^batch_size = \d+", re.MULTILINE)
    return {
        f"{entry.level}-{entry.name}": replace(
            entry.task, source=small.sub(f"batch_size = {BATCH}", entry.task.source)
        )
        for entry in entries
    }


def result_of(given: argparse.Namespace, folder: Path) -> Result | str:
    """The winner that ``--one`` names, or why there is none."""
    if given.first:
        return emitted(problems(given.source)[given.one], "cuda:sm_90")
    with Archive(given.source, create=False) as archive:
        (task,) = (task for task, candidate in winners(archive) if candidate == given.one)
        best = ranking.best(archive.history(task.digest))
        assert best is not None
        path = write_source(best[0].candidate, folder, "winner")
        return Result(task, *best, [], "", path, given.source)


def say_uses(given: argparse.Namespace) -> None:
    """Try the uses of one winner in this process, and print a line before and after each."""
    with tempfile.TemporaryDirectory() as folder:
        result = result_of(given, Path(folder))
        if isinstance(result, str):
            print(json.dumps({"name": "no kernel", "outcome": "impossible", "detail": result}))
            return
        for name, try_it in ways(result, slow=given.slow).items():
            print(json.dumps({"name": name}), flush=True)
            print(json.dumps(asdict(try_it())), flush=True)


def run_one(
    given: argparse.Namespace, winner: str, *, gpus: SimpleQueue[int] | None
) -> list[dict[str, Any]]:
    """The uses of one winner, tried in a process of its own, on a GPU that is free."""
    gpu = None if gpus is None else gpus.get()
    variables = {} if gpu is None else {"CUDA_VISIBLE_DEVICES": str(gpu)}
    options = [*(["--slow"] if given.slow else []), *(["--first"] if given.first else [])]
    command = [sys.executable, "-m", "benchmarks.winners_served", given.source, "--one", winner]
    try:
        done = subprocess.run(
            [*command, *options],
            capture_output=True,
            timeout=LIMIT_S,
            env={**os.environ, **variables},
        )
        said, why = done.stdout, ""
        if done.returncode:
            why = f"exit code {done.returncode}: {done.stderr.decode(errors='replace')[-300:]}"
    except subprocess.TimeoutExpired as late:
        said, why = late.stdout or b"", f"took more than {LIMIT_S} s"
    finally:
        if gpus is not None and gpu is not None:
            gpus.put(gpu)
    return list(_read(said.decode(), why))


def _read(said: str, why: str) -> Iterator[dict[str, Any]]:
    """The uses that were tried, and the one at which the process ended, if it did."""
    began = "building it"
    for line in filter(lambda line: line.startswith("{"), said.splitlines()):
        use = json.loads(line)
        began = use["name"]
        if "outcome" in use:
            yield use
            began = "afterwards"
    if why:
        yield {"name": began, "outcome": "raised", "detail": " ".join(why.split())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", metavar="ARCHIVE|CHECKOUT")
    parser.add_argument("--first", action="store_true", help="first candidates for KernelBench")
    parser.add_argument("--limit", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--slow", action="store_true", help="AOTInductor too")
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--total-s", type=float, default=3600.0, help="stop waiting after this")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        say_uses(given)
        return
    if given.first:
        found = [(task, name) for name, task in problems(given.source).items()]
    else:
        with Archive(given.source, create=False) as archive:
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
        pool.submit(run_one, given, digest, gpus=gpus): (task, digest) for task, digest in chosen
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

"""How an archive grows: rates, sizes and the times of what users ask, on generated verdicts.

    python benchmarks/archive_size.py --sizes 10000,100000 [--archive postgresql://me@server/empty]

Each size adds verdicts to the same archive, a hundred on each task, with a proposal and 64 samples
each; sources have the length of an emitted kernel's. Rows are made in bulk, and the rate is that of
the archive's own methods, one transaction each, as searches write. Without --archive it is a SQLite
file in a temporary folder.
"""

from __future__ import annotations

import functools
import itertools
import random
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import sqlalchemy as sa

from kernelwright.archive import Archive, ranking, rows, tables
from kernelwright.archive.connect import connect, parse
from kernelwright.bench import known
from kernelwright.core.candidate import Candidate, Proposal
from kernelwright.core.evaluation import Cost, Environment, Evaluation, Numerics, Timing
from kernelwright.core.outcome import Reason, ReasonCode, Status
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task, Workload
from kernelwright.judge import JUDGE_VERSION
from kernelwright.judge.devices.environment import Here
from kernelwright.report import page
from kernelwright.report.choice import best_of, chosen_task

A_TASK = 100
"""Verdicts on each task."""
N_MEASURED = 200
"""Verdicts that the rate is measured with."""
AT_ONCE = 1000
SOURCE = "".join(random.Random(0).choices("abcdefghijklmnop \n", k=4000))
SERIES, ROUNDS = ("candidate", "eager", "compile", "eager_graph"), 16
ENVIRONMENT = Environment("cuda:sm_90", {"gpu": "H200", "torch": "2.11.0", "threads": 9})
HERE = Here(ENVIRONMENT.device, ENVIRONMENT.facts)


@functools.cache
def task_of(number: int) -> tuple[Task, Workload]:
    task = Task(f"task_{number}", "folder", f"class Model: ...  # {number}\n" * 40)
    return task, Workload(task.digest, (("float32", (8192, 4096)),))


def verdict_of(number: int, draw: random.Random) -> tuple[Proposal, Evaluation]:
    """The verdict with this number, and the proposal that it is about."""
    task, workload = task_of(number // A_TASK)
    text = f"{number} {draw.random()}\n{SOURCE}"
    candidate = Candidate(text, "triton")
    passed = draw.random() < 0.7
    samples = {name: tuple(int(draw.gauss(40_000, 400)) for _ in range(ROUNDS)) for name in SERIES}
    found = Evaluation(
        task=task.digest,
        workload=workload.digest,
        candidate=candidate.digest,
        status=Status.PASSED if passed else Status.WRONG_VALUES,
        reasons=() if passed else (Reason(ReasonCode.UNCLASSIFIED, "element [3] is off by 0.5"),),
        environment=ENVIRONMENT,
        seed=draw.getrandbits(60),
        judge_version=JUDGE_VERSION,
        numerics=Numerics(1e-7, 1e-8, 1e-6, ("task", "negated")),
        timing=Timing(samples, "compile", "device", "cold") if passed else None,
        cost=Cost(1.98, 1.97, 2.38),
    )
    return Proposal(candidate, "rules", lineage=("fuse", "tile")), found


def grow(archive: Archive, engine: sa.Engine, first: int, last: int) -> None:
    """Add the verdicts with these numbers in bulk, with a run for each task that has ended."""
    draw = random.Random(first)
    numbers = itertools.chain([first], range(first - first % A_TASK + A_TASK, last, A_TASK))
    runs = {}
    for number in numbers:
        task, workload = task_of(number // A_TASK)
        archive.add_task(task, [workload])
        runs[task.digest] = archive.start_run(task, Settings())
        ended = {"judge": JUDGE_VERSION, "device": HERE.device, "environment": dict(HERE.facts)}
        archive.add_trials(runs[task.digest], ENVIRONMENT, 1, [])  # adds the environment
        archive.finish_run(runs[task.digest], ended)
    writes = engine.execution_options(writes=True)
    for start in range(first, last, AT_ONCE):
        made = [verdict_of(number, draw) for number in range(start, min(start + AT_ONCE, last))]
        with writes.begin() as connection:
            newest = connection.scalar(sa.select(sa.func.max(tables.evaluation.c.id)))
            for table, values in _bulk(made, (newest or 0) + 1, runs):
                connection.execute(table.insert(), values)
    _set_numbers(engine)


def _bulk(
    made: list[tuple[Proposal, Evaluation]], number: int, runs: dict[str, str]
) -> Iterator[tuple[sa.Table, list[dict[str, Any]]]]:
    at = {"created_at": "2026-11-27T00:00:00.000+00:00"}
    yield tables.candidate, [rows.from_content(said.candidate) for said, _ in made]
    yield (
        tables.proposal,
        [rows.from_proposal(said) | at | {"run": runs[found.task]} for said, found in made],
    )
    numbered = [*enumerate((found for _, found in made), number)]
    yield (
        tables.evaluation,
        [
            rows.from_evaluation(found) | at | {"run": runs[found.task], "id": number}
            for number, found in numbered
        ],
    )
    yield (
        tables.timing,
        [
            rows.from_timing(found.timing) | {"evaluation": number}
            for number, found in numbered
            if found.timing
        ],
    )


def _set_numbers(engine: sa.Engine) -> None:
    """Let a server's next verdict get a number after those that were made in bulk."""
    if engine.dialect.name == "postgresql":
        with engine.begin() as connection:
            connection.exec_driver_sql(
                "SELECT setval('evaluation_id_seq', (SELECT max(id) FROM evaluation))"
            )
            connection.exec_driver_sql("ANALYZE")


def rate(archive: Archive, first: int) -> float:
    """Verdicts a second, each with its proposal, by the methods that searches call."""
    draw = random.Random(f"rate {first}")
    said = [verdict_of(first, draw) for _ in range(N_MEASURED)]
    task, workload = task_of(first // A_TASK)
    archive.add_task(task, [workload])
    run = archive.start_run(task, Settings())
    began_s = time.monotonic()
    for proposal, found in said:
        archive.add_proposal(run, proposal)
        archive.add_evaluation(run, found)
    took_s = time.monotonic() - began_s
    archive.finish_run(run)
    return N_MEASURED / took_s


def size_bytes(engine: sa.Engine) -> int:
    with engine.connect() as connection:
        if engine.dialect.name == "postgresql":
            found = connection.exec_driver_sql("SELECT pg_database_size(current_database())")
            return int(found.scalar_one())
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        return int(pages) * int(connection.exec_driver_sql("PRAGMA page_size").scalar_one())


def seconds(work: Callable[[], object]) -> float:
    """The least time of three: other programs only add to it."""
    took_s = []
    for _ in range(3):
        began_s = time.monotonic()
        work()
        took_s.append(time.monotonic() - began_s)
    return min(took_s)


def asked(archive: Archive, url: str, n: int, folder: Path) -> dict[str, float]:
    """The seconds of what users ask."""
    middle, _ = task_of(n // A_TASK // 2)
    settings = replace(Settings(), archive=url, device="cuda")
    return {
        "show best": seconds(lambda: best_of(archive, chosen_task(archive, None))),
        "exemplars": seconds(lambda: ranking.exemplars(archive.history(middle.digest), 6, seed=0)),
        "resume a task": seconds(
            lambda: (
                known.search_of(middle, settings, HERE),
                known.chapter(middle, settings, HERE),
            )
        ),
        "report of a task": seconds(
            lambda: page.write(archive, folder / "one.html", task=middle.digest)
        ),
        "status": seconds(lambda: (archive.activities(), archive.counts())),
    }


@click.command(help=__doc__)
@click.option("--sizes", default="10000,100000", show_default=True, help="Verdicts, in order.")
@click.option("--archive", "url", default="", help="An empty database.")
@click.option("--whole-report", is_flag=True, help="Time the report of all tasks too.")
def main(sizes: str, url: str, whole_report: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        url = url or f"{folder}/archive.sqlite"
        engine = connect(parse(url), create=True)
        n = 0
        with Archive(url) as archive:
            for wanted in map(int, sizes.split(",")):
                grow(archive, engine, n, wanted)
                n = wanted
                facts = {"verdicts a second": rate(archive, n)}
                _, n_verdicts = archive.counts()  # with those that measured the rate
                facts |= {"kB a verdict": size_bytes(engine) / n_verdicts / 1e3}
                facts |= asked(archive, url, n, Path(folder))
                if whole_report:
                    out = Path(folder, "all.html")
                    facts["report of all"] = seconds(lambda: page.write(archive, out))  # noqa: B023
                told = "  ".join(f"{name} {value:.3g}" for name, value in facts.items())
                click.echo(f"{engine.dialect.name} {n}: {told}")
        engine.dispose()


if __name__ == "__main__":
    main()

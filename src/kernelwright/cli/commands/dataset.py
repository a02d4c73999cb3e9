"""``kernelwright dataset``: training pairs from archives."""

from __future__ import annotations

import time
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import RenderableType
from rich.table import Table

from kernelwright.archive import Archive
from kernelwright.cli.options import JSON, NODES, WORKERS, cluster_workers, workers_asked
from kernelwright.console.answers import DONE, NOTHING_PASSED
from kernelwright.console.terminal import Answer, Commands
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.secrets import command_line
from kernelwright.core.settings import Settings, load_settings, parse_seconds
from kernelwright.core.task import Task
from kernelwright.dataset import Grids, build_dataset
from kernelwright.dataset.build import CONTRAST, KEEP, TEMPERATURE
from kernelwright.dataset.grid import build_grid
from kernelwright.report.facts import one_line
from kernelwright.tuner import grid
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for
from kernelwright.workers.side_by_side import side_by_side


@click.group("dataset", cls=Commands)
def command() -> None:
    """Make training pairs, and grids of measured schedules."""


@command.command("build")
@click.option(
    "--archive",
    "archives",
    multiple=True,
    metavar="URL",
    help="Take verdicts from this file, folder or database URL; repeatable.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Write the dataset here.",
)
@click.option(
    "--exclude",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Leave out tasks that repeat these tests: a KernelBench checkout or a folder of tasks; "
    "repeatable.",
)
@click.option(
    "--keep",
    type=click.IntRange(min=1),
    default=KEEP,
    show_default=True,
    metavar="K",
    help="Keep at most this many pairs per task, dialect and device.",
)
@click.option(
    "--grid",
    "grids",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Take measured schedules from this folder of `dataset grid`; repeatable.",
)
@click.option(
    "--temperature",
    type=click.FloatRange(min=0, min_open=True),
    default=TEMPERATURE,
    show_default=True,
    help="Draw a grid's schedules in proportion to speed^(1/T): low for the fastest, inf for all.",
)
@click.option(
    "--contrast",
    type=click.FloatRange(min=1),
    default=CONTRAST,
    show_default=True,
    help="Smallest ratio of the speeds of a grid's kernels that a prompt shows.",
)
@NODES
@JSON
def build_command(
    archives: tuple[str, ...],
    out: Path,
    exclude: tuple[Path, ...],
    keep: int,
    grids: tuple[Path, ...],
    temperature: float,
    contrast: float,
    cluster: str | None,
    as_json: bool,
) -> Answer:
    """Write the judged candidates of archives, and schedules of grids, as Parquet with a card.

    A row is a prompt, an answer in three parts, and the verdict. Tasks with the same structure as a
    built-in task or one of --exclude are left out, whatever their names.
    """
    with cluster_workers(cluster) as workers:
        dataset = build_dataset(
            archives,
            out=out,
            exclude=exclude,
            keep=keep,
            grids=Grids(grids, temperature, contrast),
            command=command_line(),
            on_done=lambda text: click.echo(one_line(text, 160), err=True),
            workers=workers,
        )
    reasons = Counter(left.reason for left in dataset.left)
    facts = {
        "out": str(out), "pairs": len(dataset.pairs), "splits": dataset.counts,
        "tasks": len({pair.task_digest for pair in dataset.pairs}),
        "origins": dict(Counter(pair.origin for pair in dataset.pairs)),
        "statuses": dict(Counter(pair.status for pair in dataset.pairs)),
        "left": dict(reasons), "tests": dataset.n_tests,
    }  # fmt: skip
    table = Table("", "pairs", "tasks", box=None)
    for split, n in dataset.counts.items():
        names = {pair.task_digest for pair in dataset.pairs if pair.split == split}
        table.add_row(split, str(n), str(len(names)))
    for reason, n in reasons.items():
        table.add_row(f"left out: {reason}", "", str(n))
    shown: list[RenderableType] = [
        table,
        f"{len(dataset.pairs)} pairs in {out}; README.md there describes them",
    ]
    return Answer(facts, DONE if dataset.pairs else NOTHING_PASSED, shown)


@command.command("grid")
@click.option(
    "--archive",
    "archives",
    multiple=True,
    required=True,
    metavar="URL",
    help="Take programs and trials from this file or database URL, and keep new trials there; "
    "repeatable.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Write the grid here.",
)
@click.option(
    "--schedules",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="N",
    help="Measure each right program that has a schedule line under this many schedules; 0: write "
    "only what was measured before.",
)
@click.option("--device", metavar="DEVICE", help="Measure on this device: cpu, cuda, …")
@click.option("--budget", metavar="TIME", default="1h", help="Stop measuring after this time.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draw schedules with it.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Measure this many tasks side by side: kernels compile while others are timed. Default: "
    "one on each GPU.",
)
@WORKERS
@JSON
def grid_command(
    archives: tuple[str, ...],
    out: Path,
    schedules: int,
    device: str | None,
    budget: str,
    seed: int,
    as_json: bool,
    **given: Any,
) -> Answer:
    """Write measured schedules to DIR, as Parquet with a data card.

    A row is one schedule of one program for one task, with its time, as the tuner measured it in
    a search or for this grid. The same command resumes where it stopped.
    """
    until = time.monotonic() + parse_seconds(budget)
    for url in archives if schedules else ():
        settings = load_settings(Path.cwd(), archive=url, device=device, seed=seed)
        if not _measure(settings, schedules, until, workers_asked(given)):
            break
    rows = build_grid(archives, out=out, command=command_line())
    outcomes = Counter(row.outcome for row in rows)
    facts = {
        "out": str(out), "rows": len(rows), "outcomes": dict(outcomes),
        "tasks": len({row.task_digest for row in rows}),
        "programs": len({(row.task_digest, row.program) for row in rows}),
    }  # fmt: skip
    table = Table("outcome", "rows", box=None)
    for outcome, n in outcomes.most_common():
        table.add_row(outcome, str(n))
    shown: list[RenderableType] = [table, f"{len(rows)} schedules in {out}"]
    return Answer(facts, DONE if rows else NOTHING_PASSED, shown)


def _measure(settings: Settings, schedules: int, until: float, asked: WorkersAsked) -> bool:
    """Measure the programs of an archive under other schedules, each task in its own process.
    Return whether Ctrl-C was not pressed meanwhile.

    The order of the tasks is that of their digests: what a budget leaves out is a random part.
    """
    with Archive(settings.archive, create=False) as archive:
        tasks = sorted(archive.tasks(), key=lambda task: task.digest)
    workers = workers_for(settings.device, asked, usual=1)

    def one(task: Task) -> bool:
        left_s = until - time.monotonic()
        if left_s <= 0:
            return True
        work = partial(grid.measure_task, task, settings, n=schedules, left_s=left_s)
        ending = workers.run(work, preload=(grid.__name__,))
        try:
            done = ending.get(f"the grid of {task.name}", do="the same command goes on")
            click.echo(one_line(f"{task.name}: {done}", 160), err=True)
        except KernelwrightError as error:
            click.echo(one_line(f"{task.name}: {error}", 160), err=True)
        except KeyboardInterrupt:
            return False
        return True

    with workers:
        workers.target(settings)  # refuses what cannot be done there
        return all(side_by_side(one, tasks, jobs=workers.jobs, on_interrupt=workers.interrupt))

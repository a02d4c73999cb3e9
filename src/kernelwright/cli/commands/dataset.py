"""``kernelwright dataset``: training pairs from archives."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table

from kernelwright.cli.options import JSON, NODES, cluster_workers
from kernelwright.console.answers import DONE, NOTHING_PASSED
from kernelwright.console.terminal import Answer, Commands
from kernelwright.core.secrets import command_line
from kernelwright.dataset import build_dataset
from kernelwright.dataset.build import KEEP
from kernelwright.report.facts import one_line


@click.group("dataset", cls=Commands)
def command() -> None:
    """Make training pairs from archives."""


@command.command("build")
@click.option(
    "--archive",
    "archives",
    multiple=True,
    required=True,
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
@NODES
@JSON
def build_command(
    archives: tuple[str, ...],
    out: Path,
    exclude: tuple[Path, ...],
    keep: int,
    cluster: str | None,
    as_json: bool,
) -> Answer:
    """Write the judged candidates of archives to DIR, as Parquet with a data card.

    A row is a prompt, an answer in three parts, and the verdict. Tasks with the same structure as a
    built-in task or one of --exclude are left out, whatever their names.
    """
    with cluster_workers(cluster) as workers:
        dataset = build_dataset(
            archives,
            out=out,
            exclude=exclude,
            keep=keep,
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

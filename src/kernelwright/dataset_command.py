"""``kernelwright tasks`` and ``kernelwright dataset``: tasks to learn on, pairs to learn from."""

from __future__ import annotations

import json
import shlex
import sys
from collections import Counter
from pathlib import Path

import click
from rich.table import Table

from kernelwright.answers import DONE, NOTHING_PASSED
from kernelwright.compose import FAMILIES, Composed, compose
from kernelwright.compose.sizes import SIZES
from kernelwright.core.errors import UsageError
from kernelwright.dataset import build_dataset
from kernelwright.dataset.build import KEEP
from kernelwright.load.suite import MANIFEST
from kernelwright.options import JSON
from kernelwright.report.facts import printable
from kernelwright.terminal import Answer, Commands


@click.group("tasks", cls=Commands)
def tasks_group() -> None:
    """Tasks to search or to train on."""


@tasks_group.command("generate")
@click.option("--count", type=click.IntRange(min=1), required=True, metavar="N")
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option("--seed", type=int, default=0, show_default=True, help="The same gives the same.")
@click.option(
    "--size", type=click.Choice(list(SIZES)), default="cpu", show_default=True,
    help="How large: for a CPU, for a GPU, or just to look at correctness.",
)  # fmt: skip
@click.option(
    "--family", "families", multiple=True, metavar="NAME",
    help=f"Only of this family; repeatable: {', '.join(FAMILIES)}.",
)  # fmt: skip
@JSON
def generate_command(
    count: int, out: Path, seed: int, size: str, families: tuple[str, ...], as_json: bool
) -> Answer:
    """Compose N tasks at random into DIR, one KernelBench-format file each.

    Every one was run and found not to be degenerate: no constant output, no input that does not
    matter, nothing infinite, no step that changes nothing. Search them all with
    `kernelwright bench --suite folder --path DIR`.
    """
    if any(out.glob("*.py")):
        raise UsageError("the folder holds tasks already", seen=str(out), do="name an empty one")
    composed = []
    for entry in compose(count, seed=seed, size=size, families=families):
        out.mkdir(parents=True, exist_ok=True)
        (out / f"{entry.task.name}.py").write_text(entry.task.source)
        composed.append(entry)
        click.echo(printable(f"{entry.task.name}: {', '.join(entry.words)}", 160), err=True)
    written = {"seed": seed, "size": size, "tasks": [_facts(entry) for entry in composed]}
    (out / MANIFEST).write_text(json.dumps(written, indent=1) + "\n")
    counts = Counter(entry.family for entry in composed)
    table = Table("family", "tasks", box=None)
    for family, n in counts.most_common():
        table.add_row(family, str(n))
    shown = [table, f"{count} tasks in {out}"]
    return Answer({"out": str(out), "families": dict(counts), **written}, DONE, shown)


def _facts(entry: Composed) -> dict[str, object]:
    return {
        "name": entry.task.name, "digest": entry.task.digest, "family": entry.family,
        "number": entry.number, "steps": list(entry.words),
    }  # fmt: skip


@click.group("dataset", cls=Commands)
def dataset_group() -> None:
    """Training pairs from archives."""


@dataset_group.command("build")
@click.option(
    "--archive", "archives", multiple=True, required=True, metavar="URL",
    help="A file, folder or database URL; repeatable.",
)  # fmt: skip
@click.option("--out", type=click.Path(path_type=Path), required=True, metavar="DIR")
@click.option(
    "--exclude", multiple=True, type=click.Path(path_type=Path), metavar="DIR",
    help="Tests to stay clear of: a KernelBench checkout or a folder of tasks; repeatable.",
)  # fmt: skip
@click.option(
    "--keep", type=click.IntRange(min=1), default=KEEP, show_default=True, metavar="K",
    help="At most so many of a task in each dialect on each device.",
)  # fmt: skip
@JSON
def build_command(
    archives: tuple[str, ...], out: Path, exclude: tuple[Path, ...], keep: int, as_json: bool
) -> Answer:
    """Write the judged candidates of archives to DIR, as Parquet with a data card.

    A row is a prompt, an answer in three parts, and the verdict. Tasks that repeat a built-in task
    or one of --exclude in their structure are left out, whatever they are called.
    """
    dataset = build_dataset(
        archives, out=out, exclude=exclude, keep=keep,
        command=shlex.join(["kernelwright", *sys.argv[1:]]),
        on_done=lambda text: click.echo(printable(text, 160), err=True),
    )  # fmt: skip
    reasons = Counter(left.reason for left in dataset.left)
    told = {
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
    shown = [table, f"{len(dataset.pairs)} pairs in {out}; README.md there describes them"]
    return Answer(told, DONE if dataset.pairs else NOTHING_PASSED, shown)

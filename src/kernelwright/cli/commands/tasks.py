"""``kernelwright tasks``: tasks composed at random, bare or as lessons."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import click
from rich.console import RenderableType
from rich.table import Table

from kernelwright.cli.commands.lessons import lessons_command
from kernelwright.cli.options import JSON
from kernelwright.console.answers import DONE
from kernelwright.console.terminal import Answer, Commands
from kernelwright.core.errors import UsageError
from kernelwright.core.places import require_folder
from kernelwright.report.facts import one_line
from kernelwright.suites.composed import FAMILIES, Composed, compose
from kernelwright.suites.composed.sizes import SIZES
from kernelwright.suites.suite import MANIFEST


@click.group("tasks", cls=Commands)
def command() -> None:
    """Make tasks to search or to train on."""


command.add_command(lessons_command)


@command.command("generate")
@click.option(
    "--count", type=click.IntRange(min=1), required=True, metavar="N", help="Make this many tasks."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="DIR",
    help="Write the tasks here, one per file.",
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="Draw with this seed; the same seed gives the same tasks.",
)
@click.option(
    "--size",
    type=click.Choice(list(SIZES)),
    default="cpu",
    show_default=True,
    help="Size of the tasks: for a CPU, for a GPU, or only for checking correctness.",
)
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="NAME",
    help=f"Make only tasks of this family; repeatable. Default: all of {', '.join(FAMILIES)}.",
)
@JSON
def generate_command(
    count: int, out: Path, seed: int, size: str, families: tuple[str, ...], as_json: bool
) -> Answer:
    """Compose N tasks at random into DIR, one KernelBench-format file each.

    Every task was run and is not degenerate: no output is constant or infinite, every input
    matters, and every step changes its argument. Search them all with
    `kernelwright bench --suite folder --path DIR`.
    """
    require_folder(out)
    if any(out.glob("*.py")) or (out / MANIFEST).exists():
        raise UsageError("the folder already holds tasks", seen=str(out), do="name an empty folder")
    composed = []
    for entry in compose(count, seed=seed, size=size, families=families):
        (out / f"{entry.task.name}.py").write_text(entry.task.source)
        composed.append(entry)
        click.echo(one_line(f"{entry.task.name}: {', '.join(entry.words)}", 160), err=True)
    written = {"seed": seed, "size": size, "tasks": [_facts(entry) for entry in composed]}
    (out / MANIFEST).write_text(json.dumps(written, indent=1) + "\n")
    counts = Counter(entry.family for entry in composed)
    table = Table("family", "tasks", box=None)
    for family, n in counts.most_common():
        table.add_row(family, str(n))
    shown: list[RenderableType] = [table, f"{count} tasks in {out}"]
    return Answer({"out": str(out), "families": dict(counts), **written}, DONE, shown)


def _facts(entry: Composed) -> dict[str, object]:
    return {
        "name": entry.task.name,
        "digest": entry.task.digest,
        "family": entry.family,
        "number": entry.number,
        "steps": list(entry.words),
    }

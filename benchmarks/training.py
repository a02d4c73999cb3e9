"""Ways to train beside one another at their cost in judged kernels, from archives.

    kernelwright bench --suite kernelbench --path KernelBench --levels 1,2 --device cuda \\
        --archive exam.sqlite --policy base --policy sft/model=8 --policy …
    python benchmarks/training.py --archive exam.sqlite --archive train.sqlite \\
        --arm base=base --arm sft=sft/model@4 --arm selfsup=selfsup/model@4 \\
        --arm contrastive=contrastive-1/contrastive/model,contrastive-2/contrastive/model@4 \\
        --arm plain=plain-1/contrastive/model,plain-2/contrastive/model@4 \\
        --arm 'best of 8=sft/model@8' --against sft

An arm is a name and its checkpoints, one for each seed; ``@4`` lets the first four answers of each
to a task count, ``@4+2`` two more that were shown kernels of its own (`--shown`). The first is what
the others are compared with unless ``--against`` names another. Kernels judged in training are read
from the steps in the archives, back through all stages: a fair best of n has n times the tasks as
many as the other arm in training and exam together.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click
from rich import box
from rich.console import Console
from rich.table import Table

from kernelwright.archive import Archive
from kernelwright.report.arms import ArmSummary, compared, parse_arm
from kernelwright.report.exams import Share, answered
from kernelwright.report.facts import mean_text
from kernelwright.suites.suite import kernelbench_suite

WIDTH = 250  # columns of the table, wherever it goes


@click.command()
@click.option(
    "--archive", "archives", multiple=True, required=True, help="Exams, training; repeatable."
)
@click.option("--arm", "arms", multiple=True, required=True, metavar="NAME=DIR[,DIR…][@K[+S]]")
@click.option("--against", default="", metavar="NAME", help="Default: the first arm.")
@click.option("--kernelbench", type=click.Path(path_type=Path), help="Its levels, each for itself.")
@click.option("--levels", default="1,2", show_default=True)
@click.option("--json", "as_json", is_flag=True)
def main(
    archives: Sequence[str], arms: Sequence[str], against: str, kernelbench: Path | None,
    levels: str, as_json: bool,
) -> None:  # fmt: skip
    """Print the table, and one for each level where --kernelbench says which."""
    numbers = [int(level) for level in levels.split(",")]
    known = None
    if kernelbench is not None:
        known = {e.task.digest: e.level for e in kernelbench_suite(kernelbench, numbers)}
    answers, steps = [], []
    for url in archives:
        with Archive(url, create=False) as archive:
            answers += answered(archive, known)
            steps += archive.steps()
    wanted = [parse_arm(arm) for arm in arms]
    found = {"all": compared(wanted, answers, steps, against=against)}
    for level in sorted({each.level for each in answers} - {"all"}) if known else ():
        part = [each for each in answers if each.level == level]
        found[f"level {level}"] = compared(wanted, part, steps, against=against)
    if as_json:
        click.echo(
            json.dumps({name: [asdict(row) for row in rows] for name, rows in found.items()})
        )
        return
    for name, rows in found.items():
        Console(width=WIDTH).print(table(name, rows))


def table(title: str, rows: Sequence[ArmSummary]) -> Table:
    """One row for each arm."""
    fast = list(rows[0].fast)
    shown = Table(
        "arm", "seeds", "tasks × answers", "judged: training, exam", "right", "more",
        *(name for p in fast for name in (f"fast_{p}", "more")),
        "speed of the right", "times the other's",
        "best of n right", "more", *(f"fast_{p}" for p in fast), "mean",
        title=title, box=box.SIMPLE_HEAD,
    )  # fmt: skip
    for row in rows:
        shown.add_row(
            row.name, str(row.n_seeds), f"{row.n_tasks} × {row.n_answers}",
            f"{row.n_trained:.0f}, {row.n_examined:.0f}", _share(row.right), _gap(row.gap),
            *(cell for p in fast for cell in (_share(row.fast[p]), _gap(row.fast_gaps[p]))),
            mean_text(row.speed), mean_text(row.speed_ratio),
            _share(row.best_right), _gap(row.best_gap),
            *(_share(share) for share in row.best_fast.values()), mean_text(row.best_speed),
        )  # fmt: skip
    shown.caption = (
        "95 % intervals over tasks and seeds, of speeds over tasks; more, times: the arm without "
        "such a figure; speeds against the strongest library setting"
    )
    return shown


def _share(share: Share) -> str:
    return f"{share.share:.0%} ({share.low:.0%} to {share.high:.0%})"


def _gap(gap: Share | None) -> str:
    return "" if gap is None else f"{gap.share:+.0%} ({gap.low:+.0%} to {gap.high:+.0%})"


if __name__ == "__main__":
    main()

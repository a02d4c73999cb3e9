"""Tasks for reinforcement, of a GPU's size, into an archive: nobody has answered them yet.

    python benchmarks/training_pool.py --exclude KernelBench/KernelBench/level1 \\
        --exclude KernelBench/KernelBench/level2 --archive pool.sqlite [--count 96]
    kernelwright train contrastive --archive pool.sqlite …

Lessons' tasks of other seeds than those that were learned from, each form in turns, whose inputs,
weights and results take --least to --most MB: large enough for a GPU's time to be that of the
kernels, small enough to be judged in a second. What repeats a task of --exclude by structure is
left out. With few tasks a model learns them by heart: 8 raised what it got right of these from 45
to 70 % and cost it 16 points on others.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import torch

from kernelwright.archive import Archive
from kernelwright.compose.lessons import FORMS, lessons
from kernelwright.core.task import Task
from kernelwright.dataset.build import excluded_tasks
from kernelwright.load.structure import Known, structure

EACH = 40  # lessons of a form that are looked at for each that is wanted


def n_bytes(task: Task) -> float:
    """Of inputs, weights and results, none of which takes memory; infinite where that fails."""
    space: dict[str, object] = {"__name__": "task"}
    exec(compile(task.source, task.name, "exec"), space)
    with torch.device("meta"):
        try:
            model, inputs = space["Model"](*space["get_init_inputs"]()), space["get_inputs"]()
            got = model(*inputs)
        except NotImplementedError:  # an operator that has no meta kernel
            return float("inf")
    results = got if isinstance(got, tuple | list) else [got]
    held = [*inputs, *model.parameters(), *results]
    return sum(t.numel() * t.element_size() for t in held if isinstance(t, torch.Tensor))


def fitting(form: str, seed: int, least: float, most: float, tests: Known) -> Iterator[Task]:
    """The tasks of a form that are large enough, small enough and no test."""
    for lesson in lessons(EACH, seed=seed, size="gpu", forms=[form]):
        if least <= n_bytes(lesson.task) <= most and not tests.repeated_by(structure(lesson.task)):
            yield lesson.task


@click.command()
@click.option("--exclude", type=click.Path(path_type=Path), multiple=True, help="Tests.")
@click.option("--archive", required=True, metavar="URL", help="Where the tasks go.")
@click.option("--count", default=96, show_default=True)
@click.option("--seed", default=77, show_default=True)
@click.option("--least", default=16.0, show_default=True, help="MB.")
@click.option("--most", default=200.0, show_default=True, help="MB.")
def main(
    exclude: Sequence[Path], archive: str, count: int, seed: int, least: float, most: float
) -> None:
    """Write the tasks, and how many there are of each form."""
    tests = Known(excluded_tasks(exclude))
    forms = {form: fitting(form, seed, least * 1e6, most * 1e6, tests) for form in FORMS}
    kept: dict[str, int] = {}
    with Archive(archive) as opened:
        for form in itertools.islice(itertools.cycle(FORMS), count * len(FORMS)):
            task = next(forms[form], None)
            if task is None or sum(kept.values()) == count:
                continue
            opened.add_task(task)
            kept[form] = kept.get(form, 0) + 1
    click.echo(f"{sum(kept.values())} tasks: " + ", ".join(f"{n} {f}" for f, n in kept.items()))


if __name__ == "__main__":
    main()

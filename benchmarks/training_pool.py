"""Tasks for reinforcement, of a GPU's size, into an archive, each with kernels that were judged.

    python benchmarks/training_pool.py --exclude KernelBench/KernelBench/level1 \\
        --exclude KernelBench/KernelBench/level2 --archive pool.sqlite [--count 24] [--device cuda]
    kernelwright train contrastive --archive pool.sqlite …

Lessons' tasks of another seed than those that were learned from, each form in turns, whose inputs,
weights and results take --least to --most MB: large enough for a GPU's time to be that of the
kernels, small enough to be judged in a second. What repeats a task of --exclude by structure is
left out. With --device the kernel of each is judged under three schedules and timed: then
contrastive training has something to show from its first step. With few tasks a model learns them
by heart: 8 raised what it got right of these from 45 to 70 %, and cost it 16 points on others.

--composed adds tasks that no lesson is like: chains of operators (`kernelwright tasks generate`),
for which nobody wrote a kernel. A model that has learned the lessons gets nine of ten of theirs
right, so that only these can teach it more about rightness.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
from training_exam import weight

from kernelwright.archive import Archive
from kernelwright.cli.commands.lessons import said
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings
from kernelwright.core.task import Task
from kernelwright.dataset.build import excluded_tasks
from kernelwright.dialects.devices import resolve
from kernelwright.loaders.structure import KnownStructures, structure
from kernelwright.suites.composed import compose
from kernelwright.suites.composed.lessons import FORMS, Lesson, lessons
from kernelwright.train.reward_pool import RewardPool
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for

EACH = 40  # tasks of a form that are looked at
SCHEDULES = 3
FAMILIES = ("pointwise", "reduction", "normalisation", "softmax", "gemm", "pooling", "loss")
"""Of composed tasks; the others are far from what a small model can write."""
MOST_LOOKED_AT = 20
"""Composed tasks for each that is wanted."""


def n_bytes(task: Task) -> float:
    """Of inputs, weights and results; infinite where torch cannot tell without running it."""
    try:
        return weight(task.source)
    except NotImplementedError:  # an operator that has no meta kernel
        return float("inf")


def fitting(
    form: str, seed: int, least: float, most: float, tests: KnownStructures
) -> Iterator[list[Lesson]]:
    """The kernels of each task of a form that is large enough, small enough and no test."""
    written = lessons(EACH, seed=seed, size="gpu", forms=[form], schedules=SCHEDULES)
    for _, kernels in itertools.groupby(written, lambda lesson: lesson.task.digest):
        found = list(kernels)
        task = found[0].task
        if least <= n_bytes(task) <= most and not tests.repeated_by(structure(task)):
            yield found


def fitting_composed(
    n: int, seed: int, least: float, most: float, tests: KnownStructures
) -> Iterator[Task]:
    """Composed tasks that are large enough, small enough and no tests."""
    for entry in compose(n * MOST_LOOKED_AT, seed=seed, size="gpu", families=FAMILIES):
        task = entry.task
        if least <= n_bytes(task) <= most and not tests.repeated_by(structure(task)):
            yield task


def in_turns(forms: Sequence[Iterator[list[Lesson]]]) -> Iterator[list[Lesson]]:
    """One of each, again and again, until all are at their ends."""
    rounds = itertools.zip_longest(*forms)
    return (found for each in rounds for found in each if found is not None)


@click.command()
@click.option("--exclude", type=click.Path(path_type=Path), multiple=True, help="Tests.")
@click.option("--archive", required=True, metavar="URL", help="Where the tasks go.")
@click.option("--count", default=24, show_default=True)
@click.option("--composed", default=0, show_default=True, help="Composed tasks besides.")
@click.option("--seed", default=77, show_default=True)
@click.option("--least", default=16.0, show_default=True, help="MB.")
@click.option("--most", default=200.0, show_default=True, help="MB.")
@click.option("--device", default="", help="Judge kernels there; default: none are.")
@click.option("--jobs", default=4, show_default=True)
def main(
    exclude: Sequence[Path], archive: str, count: int, composed: int, seed: int, least: float,
    most: float, device: str, jobs: int,
) -> None:  # fmt: skip
    """Write the tasks, and how many there are of each form."""
    tests = KnownStructures(excluded_tasks(exclude))
    forms = [fitting(form, seed, least * 1e6, most * 1e6, tests) for form in FORMS]
    chosen = list(itertools.islice(in_turns(forms), count))
    told = fitting_composed(composed, seed, least * 1e6, most * 1e6, tests)
    others = list(itertools.islice(told, composed))
    with Archive(archive) as opened:
        for task in (*(kernels[0].task for kernels in chosen), *others):
            opened.add_task(task)
    told = Counter(kernels[0].form for kernels in chosen) + Counter(composed=len(others))
    click.echo(
        f"{len(chosen) + len(others)} tasks: "
        + ", ".join(f"{n} {form}" for form, n in told.items())
    )
    if not device:
        return
    settings = Settings(device=device, archive=archive)
    workers = workers_for(device, WorkersAsked(jobs=jobs))
    with workers, RewardPool(settings, resolve(Device.parse(device)), workers) as pool:
        judged = pool.judge([said(lesson) for kernels in chosen for lesson in kernels])
    found = Counter(j.evaluation.status.value if j.evaluation else "not judged" for j in judged)
    click.echo("kernels: " + ", ".join(f"{n} {status}" for status, n in found.most_common()))


if __name__ == "__main__":
    main()

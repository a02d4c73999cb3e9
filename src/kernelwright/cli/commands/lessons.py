"""``kernelwright tasks lessons``: tasks with plain kernels, judged, into an archive."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path

import click
from rich.table import Table

from kernelwright.archive import Archive, without_password
from kernelwright.cli.options import JSON
from kernelwright.console.answers import DONE, NOTHING_PASSED
from kernelwright.console.terminal import Answer
from kernelwright.core.candidate import Proposal
from kernelwright.core.device import Device
from kernelwright.core.settings import Settings, load_settings
from kernelwright.dialects.devices import resolve
from kernelwright.report.facts import one_line
from kernelwright.suites.composed.lessons import FORMS, PROPOSER, Lesson, lessons
from kernelwright.suites.composed.sizes import SIZES
from kernelwright.train.reward import Judged
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for

AT_ONCE = 4  # lessons for each process that judges, between two lines of progress


@click.command("lessons")
@click.option(
    "--count", type=click.IntRange(min=1), required=True, metavar="N", help="Make this many tasks."
)
@click.option("--archive", required=True, metavar="URL", help="Keep tasks and verdicts here.")
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
    default="small",
    show_default=True,
    help="Size of the tasks: for a CPU, for a GPU, or only for checking correctness.",
)
@click.option(
    "--form",
    "forms",
    multiple=True,
    metavar="NAME",
    help=f"Make only tasks of this form; repeatable. Default: all of {', '.join(FORMS)}.",
)
@click.option(
    "--schedules",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Judge this many kernels of each task, with other block sizes, warps and the like.",
)
@click.option(
    "--timed",
    is_flag=True,
    help="Time correct kernels, to learn which schedule is fast on the device.",
)
@click.option(
    "--unjudged",
    is_flag=True,
    help="Keep the kernels without verdicts: `dataset grid` compares each with its reference.",
)
@click.option(
    "--device", metavar="DEVICE", help="Judge on cpu (default, Triton's interpreter), cuda, …"
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Judge this many tasks side by side.",
)
@JSON
def lessons_command(
    count: int,
    archive: str,
    seed: int,
    size: str,
    forms: tuple[str, ...],
    schedules: int,
    timed: bool,
    unjudged: bool,
    device: str | None,
    jobs: int,
    as_json: bool,
) -> Answer:
    """Compose N tasks, each with a short Triton kernel that works for every shape, and judge them.

    A small model can learn from these lessons without a larger model as its teacher: `dataset build
    --archive` makes pairs of the correct ones, and leaves out tasks that repeat a test. Only
    correctness is judged unless --timed is given. The same command resumes where it stopped.
    """
    settings = load_settings(Path.cwd(), archive=archive, device=device)
    Archive(settings.archive).close()  # errors in the archive are reported here, not by a process
    drawn = lessons(count, seed=seed, size=size, forms=forms, schedules=schedules)
    tried: Counter[str] = Counter()
    right: Counter[str] = Counter()
    if unjudged:
        return _kept(settings, drawn)
    where = resolve(Device.parse(settings.device))
    workers = workers_for(settings.device, WorkersAsked(jobs=jobs))
    with workers, RewardPool(settings, where, workers, timed=timed) as pool:
        while some := list(islice(drawn, jobs * AT_ONCE)):
            for lesson, judged in zip(some, pool.judge([said(each) for each in some]), strict=True):
                tried[lesson.form] += 1
                right[lesson.form] += judged.evaluation is not None and judged.evaluation.passed
                click.echo(one_line(f"{lesson.task.name}: {_found(judged)}", 160), err=True)
    table = Table("form", "lessons", "right", box=None)
    for form, n in tried.most_common():
        table.add_row(form, str(n), str(right[form]))
    facts = {"archive": without_password(archive), "lessons": dict(tried), "right": dict(right)}
    return Answer(facts, DONE if right.total() else NOTHING_PASSED, [table])


def _kept(settings: Settings, drawn: Iterator[Lesson]) -> Answer:
    """Archive lessons without judging them."""
    kept: Counter[str] = Counter()
    with Archive(settings.archive) as archive:
        for lesson in drawn:
            archive.add_task(lesson.task)
            run = archive.start_run(lesson.task, replace(settings, proposers=()))
            archive.add_proposal(run, Proposal(lesson.candidate, PROPOSER, (lesson.form,)))
            archive.finish_run(run)
            kept[lesson.form] += 1
            click.echo(one_line(f"{lesson.task.name}: kept", 160), err=True)
    table = Table("form", "lessons", box=None)
    for form, n in kept.most_common():
        table.add_row(form, str(n))
    facts = {"archive": without_password(settings.archive), "lessons": dict(kept)}
    return Answer(facts, DONE, [table])


def said(lesson: Lesson) -> PolicyAnswer:
    """Return a lesson as an answer to its task."""
    candidate = lesson.candidate
    text = f"```python\n{candidate.source}```\n"
    return PolicyAnswer(lesson.task, candidate.dialect, text, model=lesson.form, origin=PROPOSER)


def _found(judged: Judged) -> str:
    found = judged.evaluation
    if judged.fault is not None:
        return f"the task cannot be run: {judged.fault}"
    if found is None:
        return "no code"
    return "; ".join(filter(None, (found.status.value, found.why)))

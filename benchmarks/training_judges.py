"""Verdicts a second of the fast judge of training beside the judge, on the same answers.

    python benchmarks/training_judges.py [--tasks 8] [--group 8] [--jobs 2]
        [--device cuda] [--limit 150s] [--out ROWS.jsonl]

Answers are lessons' kernels under random schedules, as a policy writes them, and of each group two
that are made wrong: one leaves out what follows a program's first block, one is off by three
thousandths in every result. Task by task, both judges get the same group, in turns who is first;
each has as many processes as ``--jobs``. The table gives verdicts a second, on how many answers
both agree on whether it is right, and of the pairs of right answers whose speeds differ by a tenth
or more by the judge, how many are in the same order by the fast one. No answer is audited: the
judge looks at all of them.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console
from rich.table import Table

from kernelwright.core import schedule_line
from kernelwright.core.device import Device
from kernelwright.core.settings import load_settings, parse_seconds
from kernelwright.dialects.devices import resolve
from kernelwright.suites.composed.lessons import Lesson, lessons
from kernelwright.train.fast_judge import Fast
from kernelwright.train.reward import Judged
from kernelwright.train.reward_pool import RewardPool
from kernelwright.train.reward_worker import PolicyAnswer
from kernelwright.workers.asked import WorkersAsked
from kernelwright.workers.opening import workers_for

FORMS = ("pointwise", "product", "linear", "mapping", "reduction", "pooling", "linear reduced",
         "image norm", "scan", "cross entropy")  # fmt: skip
FULL, FAST = "judge", "fast"
APART = 1.1


def group(lesson: Lesson, n: int, draw: random.Random) -> list[PolicyAnswer]:
    """``n`` answers to a lesson's task: two wrong ones, the others under random schedules."""
    source = lesson.candidate.source
    names = [*schedule_line.read(source)]
    texts = {source}
    for _ in range(20 * n):
        if len(texts) < n - 2:
            texts.add(schedule_line.rewritten(source, schedule_line.drawn(names, draw)))
    wrong = [source.replace("tl.program_id(0)", "0", 1), _off(source)]
    return [
        PolicyAnswer(lesson.task, "triton", f"```python\n{text}```\n", model=lesson.form)
        for text in [*sorted(texts), *wrong]
    ]


def _off(source: str) -> str:
    """The source whose last kernel stores results that are off by three thousandths."""
    head, mark, tail = source.rpartition("tl.store(")
    at, _, rest = tail.partition(", ")
    value, _, end = rest.partition(", mask")
    return f"{head}{mark}{at}, ({value}) * 1.003 + 0.003{', mask' if end else ''}{end}"


def time_ns(judged: Judged) -> float | None:
    """Nanoseconds of a right answer's call."""
    found = judged.evaluation
    return found.timing.median_ns("candidate") if found and found.timing else None


def ordered(times: list[tuple[float, float]]) -> tuple[int, int]:
    """Of pairs of answers, by both judges' times: how many are in the same order by both, of those
    whose times differ by a tenth by the first."""
    apart = [
        (one, other)
        for one, other in itertools.combinations(times, 2)
        if max(one[0], other[0]) >= APART * min(one[0], other[0])
    ]
    return sum((one[0] < other[0]) == (one[1] < other[1]) for one, other in apart), len(apart)


@click.command()
@click.option("--tasks", default=8, show_default=True)
@click.option("--group", "n", default=8, show_default=True)
@click.option("--jobs", default=2, show_default=True)
@click.option("--device", default="cuda", show_default=True)
@click.option("--seed", default=3, show_default=True)
@click.option("--size", default="gpu", show_default=True)
@click.option("--limit", default="1h", show_default=True, help="Begin no round after this time.")
@click.option("--out", type=click.Path(path_type=Path))
def main(
    tasks: int,
    n: int,
    jobs: int,
    device: str,
    seed: int,
    size: str,
    limit: str,
    out: Path | None,
) -> None:
    """Time both judges, round by round of as many tasks as there are jobs."""
    until, draw = time.monotonic() + parse_seconds(limit), random.Random(seed)
    where, rows = resolve(Device.parse(device)), []
    written = lessons(tasks, seed=seed, size=size, forms=FORMS)
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        settings = load_settings(Path.cwd(), device=device)
        opened = {}
        for name, fast in ((FULL, None), (FAST, Fast(0.0))):
            mine = replace(settings, archive=f"{folder}/{name}.sqlite")
            workers = stack.enter_context(workers_for(device, WorkersAsked(jobs=jobs)))
            opened[name] = stack.enter_context(RewardPool(mine, where, workers, fast=fast))
        for number in itertools.count():
            some = [*itertools.islice(written, jobs)]
            if not some or time.monotonic() > until:
                break
            answers = [answer for lesson in some for answer in group(lesson, n, draw)]
            order = (FULL, FAST) if number % 2 else (FAST, FULL)
            row = {"n": len(answers)}
            for name in order:
                begin_s = time.monotonic()
                row[name] = opened[name].judge(answers)
                row[f"{name}_s"] = time.monotonic() - begin_s
            rows.append(told(row, answers))
            click.echo(json.dumps(rows[-1]), err=True)
            if out is not None:
                with out.open("a") as file:
                    file.write(json.dumps(rows[-1]) + "\n")
    shown(rows)


def told(row: dict, answers: list[PolicyAnswer]) -> dict:
    """What is kept of a round."""
    both = [*zip(answers, row[FULL], row[FAST], strict=True)]
    right = {name: [_is_right(judged) for judged in row[name]] for name in (FULL, FAST)}
    orders = []
    for _, each in itertools.groupby(both, key=lambda pair: pair[0].task.digest):
        times = [(time_ns(a), time_ns(b)) for _, a, b in each]
        timed = [(a, b) for a, b in times if a is not None and b is not None]
        orders.append(ordered(timed))
    disputed = [
        f"{answer.model}: {_why(full)} | {_why(fast)}"[:300]
        for (answer, full, fast), a, b in zip(both, right[FULL], right[FAST], strict=True)
        if a != b
    ]
    return {
        "n": row["n"], "judge_s": row["judge_s"], "fast_s": row["fast_s"],
        "right": sum(right[FULL]), "right by trial": sum(right[FAST]),
        "disputed": disputed, "orders": orders,
    }  # fmt: skip


def _is_right(judged: Judged) -> bool:
    found = judged.evaluation
    return found is not None and found.passed and found.is_own


def _why(judged: Judged) -> str:
    found = judged.evaluation
    if found is None:
        return f"none: {judged.fault}"
    return f"right {found.kinds}" if found.passed else f"{found.status}: {found.why}"[:140]


def shown(rows: list[dict]) -> None:
    """Print the table. The first round, in which processes start, does not count if there are
    others."""
    rows = rows[1:] or rows
    n = sum(row["n"] for row in rows)
    table = Table("", "verdicts", "seconds", "verdicts a second", "right")
    for name, right in ((FULL, "right"), (FAST, "right by trial")):
        took_s = sum(row[f"{name}_s"] for row in rows)
        rate = n / took_s if took_s else 0.0
        table.add_row(
            name, str(n), f"{took_s:.1f}", f"{rate:.2f}", str(sum(r[right] for r in rows))
        )
    disputed = [text for row in rows for text in row["disputed"]]
    same, apart = (sum(order[i] for row in rows for order in row["orders"]) for i in (0, 1))
    console = Console(width=160)
    console.print(table)
    console.print(f"disputed: {len(disputed)} of {n}; in the same order: {same} of {apart} pairs")
    for text in disputed:
        console.print(text)


if __name__ == "__main__":
    main()

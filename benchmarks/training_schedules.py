"""Which schedules of lessons' kernels are fast on this GPU: what lessons should draw from.

    python benchmarks/training_schedules.py [--schedules 16] [--tasks 2] [--jobs 14] [--out FILE]

Lessons' tasks of a GPU's size, a few of each form (products twice as many), under schedules drawn
from all that there are. Each kernel is compared with eager and timed beside it, L2 flushed before
each call, one process at a time at the clock while others compile. The table says for every value
of every knob how much longer kernels take than the fastest of their task: the geometric mean.

Not covered:
    A kernel's design is not a knob, and of a few kernels a value says little.
"""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import multiprocessing
import statistics
import tempfile
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing.synchronize import Lock
from pathlib import Path
from typing import Any

import click
import torch
from opened import opened
from rich.console import Console
from rich.table import Table
from training_exam import weight

from kernelwright.core.task import Task
from kernelwright.suites.composed.lessons import FORMS, Lesson, lessons

DEVICE = "cuda"
LEAST_BYTES, MOST_BYTES = 8e6, 120e6
LOOKED_AT = 24
"""Tasks of a form, among which are some of such a size."""
CALLS = 15
L2_BYTES = 256 << 20
KNOBS = {
    "flat": ("elements", "warps"), "columns": ("columns", "warps"), "windows": ("windows", "warps"),
    "rows": ("elements", "row_warps"), "attention": ("tile_m", "precision"),
    "product": ("tile_m, tile_n, terms", "precision", "tile_warps", "stages",
                "tile_m, tile_n, tile_warps, precision"),
}  # fmt: skip
"""By family; of several in one text, every combination."""
FAMILY = {
    **dict.fromkeys(("pointwise", "spread", "loss", "divergence", "row loss", "cross entropy",
                     "image norm", "plane", "whole norm", "vector product"), "flat"),
    **dict.fromkeys(("product", "gram", "added product", "deep product", "linear",
                     "linear reduced", "linear mapped", "linear grouped", "linear batch norm",
                     "linear pooled", "two linears"), "product"),
    "pooling": "windows", "attention": "attention",
}  # fmt: skip
"""What a form's time hangs on; a mapping, reduction, index or scan is of rows or of columns."""
Row = dict[str, Any]


def family(form: str) -> str:
    """The knobs that count for it."""
    name, _, way = form.partition(", ")
    return FAMILY.get(name) or ("columns" if way == "columns" else "rows")


def median_s(call: Callable[[], object], junk: torch.Tensor) -> float:
    """Of calls that find nothing in the L2 cache."""
    events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(CALLS)]
    for start, end in events:
        junk.zero_()
        start.record()
        call()
        end.record()
    torch.cuda.synchronize()
    return statistics.median(start.elapsed_time(end) for start, end in events) / 1e3


def studied(form: str, n_tasks: int, n_schedules: int, clock: Lock) -> list[Row]:
    """A row for each kernel of the form's tasks."""
    torch.set_num_threads(1)
    written = lessons(LOOKED_AT, seed=5, size="gpu", forms=[form], schedules=n_schedules)
    rows: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        for _, kernels in itertools.groupby(written, lambda lesson: lesson.task.digest):
            found = list(kernels)
            if fits(found[0].task):
                with torch.device(DEVICE), torch.no_grad():
                    rows += timed(found, Path(folder), clock)
                n_tasks -= 1
            if not n_tasks:
                break
    return rows


def fits(task: Task) -> bool:
    """Whether it is large enough and small enough."""
    try:
        return LEAST_BYTES <= weight(task.source) <= MOST_BYTES
    except RuntimeError:  # an operator has no meta kernel
        return False


def timed(kernels: list[Lesson], folder: Path, clock: Lock) -> list[Row]:
    """Rows of one task's kernels; none of what does not agree or does not run."""
    task = opened(kernels[0].task.source, folder)
    model = task.Model(*task.get_init_inputs())
    inputs = [x.to(DEVICE) if isinstance(x, torch.Tensor) else x for x in task.get_inputs()]
    wanted = model(*inputs)
    junk = torch.empty(L2_BYTES, dtype=torch.uint8)
    rows = []
    for lesson in kernels:
        made = opened(lesson.candidate.source, folder).ModelNew(*task.get_init_inputs())
        made.load_state_dict(model.state_dict())
        try:
            agrees = torch.allclose(made(*inputs), wanted, rtol=1e-2, atol=1e-3)
        except Exception as error:  # as a tile that needs more memory than there is
            agrees, seen = False, type(error).__name__
        else:
            seen = "" if agrees else "other values"
        row = {"task": lesson.task.name, "form": lesson.form, "wrong": seen}
        if agrees:
            with clock:
                row["eager_s"] = median_s(lambda: model(*inputs), junk)
                row["kernel_s"] = median_s(lambda made=made: made(*inputs), junk)
        rows.append({**row, **dataclasses.asdict(lesson.schedule)})
    return rows


def table(rows: list[Row]) -> Table:
    """By family, knob and value: how much longer than the task's fastest, and how many."""
    best: dict[tuple[str, str], float] = {}
    right = [row for row in rows if "kernel_s" in row]
    for row in right:
        key = (row["form"], row["task"])
        best[key] = min(best.get(key, math.inf), row["kernel_s"])
    found: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in right:
        longer = math.log(row["kernel_s"] / best[row["form"], row["task"]])
        of = family(row["form"])
        for knob in KNOBS[of]:
            value = ", ".join(str(row[name]) for name in knob.split(", "))
            found[of, knob, value].append(longer)
    shown = Table("family", "knob", "value", "times the fastest", "kernels")
    for (of, knob, value), logs in sorted(found.items()):
        shown.add_row(of, knob, value, f"{math.exp(statistics.mean(logs)):.2f}", str(len(logs)))
    return shown


@click.command()
@click.option("--schedules", default=16, show_default=True, help="Of each task.")
@click.option("--tasks", default=2, show_default=True, help="Of each form.")
@click.option("--jobs", default=14, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), help="All rows, as JSON.")
def main(schedules: int, tasks: int, jobs: int, out: Path | None) -> None:
    """Time the kernels and print the table."""
    spawned = multiprocessing.get_context("spawn")
    rows: list[Row] = []
    with spawned.Manager() as shared, ProcessPoolExecutor(jobs, mp_context=spawned) as pool:
        clock = shared.Lock()
        longest = sorted(FORMS, key=lambda form: family(form) != "product")
        asked = [
            pool.submit(studied, form, tasks * (1 + (family(form) == "product")), schedules, clock)
            for form in longest
        ]
        for done in as_completed(asked):
            rows += done.result()
            click.echo(f"{len(rows)} kernels", err=True)
    if out is not None:
        out.write_text(json.dumps(rows))
    console = Console(width=120)
    console.print(table(rows))
    n_wrong = sum("kernel_s" not in row for row in rows)
    console.print(f"{torch.cuda.get_device_name()}: {len(rows)} kernels, {n_wrong} not right")


if __name__ == "__main__":
    main()

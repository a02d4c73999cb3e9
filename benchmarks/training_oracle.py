"""What the best schedule would give: the answers as they are written, and over a schedule space.

    python benchmarks/training_oracle.py [--kernelbench DIR] [--device cuda] [--schedules 64]
        [--trials 16] [--out ROWS.jsonl] [--shard 0/2] [--limit 150s]
    python benchmarks/training_oracle.py --table ROWS.jsonl …
    python benchmarks/training_oracle.py --grid GRID

An answer is the first program that the rules write for a task: the built-in ones, and KernelBench's
problems without convolutions as the exam of training has them. Its space is a random draw of what
the emitter has for that program, with the neighbours of the first. All of it is tried, in the
order in which the tuner would go. Three of it are judged against the strongest library setting: the
answer as written, the tuner's best after some trials, and the best of the space, the last two after
a race among the best few. The table says how many are surely faster than the library (fast_1), and
the geometric means. With --grid the answers are the right programs of a grid, as a policy writes
them, and times are over eager: as written, a schedule drawn at random, the best after some trials
in the grid's order, and the best. If the best of the space is seldom fast, the space must grow
before a policy is trained to choose from it.
"""

from __future__ import annotations

import itertools
import json
import math
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from shares import share
from training_exam import WITHOUT, cut
from tuned import Tuned, Untunable, timed_dialects, tuned

from kernelwright.compiler.capture.capture import CannotCapture
from kernelwright.compiler.codegen.outline import outline_of
from kernelwright.core.candidate import Brief, Proposal
from kernelwright.core.device import Device
from kernelwright.core.errors import KernelwrightError
from kernelwright.core.settings import parse_seconds
from kernelwright.core.task import Task
from kernelwright.core.trial import Outline, Trial
from kernelwright.dataset.grid import Measured, open_grid
from kernelwright.dialects.devices import resolve
from kernelwright.judge import SharedForkServer, SharedForkServerProcess
from kernelwright.proposers.rules.proposer import OpenedTask, first_proposals, neighbours_of
from kernelwright.suites.suite import builtin_suite, kernelbench_suite
from kernelwright.tuner.pool import Pool
from kernelwright.tuner.queue import BuildQueue
from kernelwright.tuner.racing import FINAL_STAGES
from kernelwright.tuner.space import is_tunable
from kernelwright.tuner.tuner import AHEAD, BATCH, Tried

MOST_BYTES = 96 << 20
"""As the exam of training has it."""
ENUMERATED, WRITING_S = 400, 6.0
"""Schedules of a program that are written at most, of which some are drawn, and for how long."""
N_FINAL = 6
"""Candidates that are raced once more before one of them counts as the best."""
VERDICT_S = 1.5
"""Seconds of timing of a verdict."""
ARMS = ("written", "tuned", "best")
GRID_ARMS = ("written", "at random", "tuned", "best")
Row = dict[str, Any]


class Listed:
    """A fixed space of one program's schedules, the answer as written first."""

    def __init__(self, opened: OpenedTask, proposals: Sequence[Proposal]) -> None:
        self._left, self._first = iter(proposals), proposals[0].candidate.digest
        self._outline = outline_of(opened.program_of(proposals[0]))

    def stream(self, leaders: Sequence[Proposal]) -> Iterator[Proposal]:
        return self._left

    def outline(self, proposal: Proposal) -> Outline:
        return self._outline

    def goes_first(self, proposal: Proposal) -> bool:
        return proposal.candidate.digest == self._first


def space_of(opened: OpenedTask, n: int, draw: random.Random) -> list[Proposal]:
    """The answer as written, and at most ``n`` others of its program."""
    written = filter(is_tunable, first_proposals(opened, ENUMERATED))
    answer = next(written, None)
    if answer is None:
        return []
    program = answer.schedule["variant"], answer.candidate.dialect
    until = time.monotonic() + WRITING_S
    others = itertools.takewhile(
        lambda _: time.monotonic() < until, itertools.chain(neighbours_of(opened, answer), written)
    )
    same = {
        one.candidate.digest: one
        for one in others
        if (one.schedule["variant"], one.candidate.dialect) == program and is_tunable(one)
    }
    same.pop(answer.candidate.digest, None)
    return [answer, *draw.sample([*same.values()], min(n, len(same)))]


def tried(task: Tuned, pool: Pool, batch_size: int) -> list[tuple[Proposal, Trial]]:
    """All of a pool with its trials, in the tuner's order: it knows what was measured before."""
    found: list[tuple[Proposal, Trial]] = []
    queue = BuildQueue(task.process)
    while True:
        timed = [Tried(p, t, t.time_ns) for p, t in found if t.time_ns is not None]
        timed.sort(key=lambda one: one.time_ns)
        queue.add(pool.take(max(0, AHEAD - len(queue)), timed, math.inf))
        if not len(queue):
            queue.close()
            return found
        batch = queue.take(batch_size, 4, math.inf)
        found += zip(batch, task.runner.measure(batch), strict=True)


def best_of(task: Tuned, found: Sequence[tuple[Proposal, Trial]]) -> Proposal:
    """The fastest, after one more race among the best few."""
    timed = sorted((t.time_ns, n) for n, (_, t) in enumerate(found) if t.time_ns is not None)
    few = [found[n][0] for _, n in timed[:N_FINAL]]
    times = [trial.time_ns or math.inf for trial in task.runner.measure(few, FINAL_STAGES)]
    return few[times.index(min(times))]


def studied(
    task: Task, device: Device, dialect: str, server: SharedForkServer, numbers: tuple[int, int]
) -> Row:
    """The row of one task; the numbers are those of schedules and of trials.

    Raises:
        Untunable: the reason.
        CannotCapture: the rules write nothing for it.
    """
    (n_schedules, n_trials), dialects = numbers, (dialect,)
    began_s = time.monotonic()
    with tuned(task, device, dialects, server, budget_s=60, on_trials=lambda trials: None) as ready:
        ready.judge.start_baselines()
        brief = Brief(task, device, dialects, threads=ready.judge.threads, budget_s=10)
        opened = OpenedTask(brief)
        space = space_of(opened, n_schedules, random.Random(task.digest))
        if not space:
            raise Untunable("the rules write nothing that can be tried")
        with ready.runner.at_work():
            ready.runner.start()
            found = tried(ready, Pool(Listed(opened, space), ready.model), BATCH[device.kind])
            timed = [one for one in found if one[1].time_ns is not None]
            if not timed or found[0][1].time_ns is None:
                raise Untunable(f"{found[0][1].outcome}: {found[0][1].detail[:100]}")
            chosen = [space[0], best_of(ready, found[:n_trials]), best_of(ready, found)]
        row: Row = {"task": task.name, "dialect": dialect, "n": len(found), "right": len(timed)}
        times = sorted(t.time_ns for _, t in timed)
        row["spread"] = times[len(times) // 2] / times[0]
        for n in (1, 4, 16, 64, len(found)):
            row[f"at {n}"] = min(t.time_ns for _, t in found[:n] if t.time_ns) / times[0]
        verdicts = {}
        for arm, one in zip(ARMS, chosen, strict=True):
            name = one.candidate.digest
            if name not in verdicts:
                verdicts[name] = ready.judge.evaluate(one.candidate, max_time_s=VERDICT_S)
            speedup = verdicts[name].speedup
            status = str(verdicts[name].status)
            row[arm] = [speedup.median, speedup.low, speedup.high] if speedup else status
        row |= {"strongest": ready.judge.strongest, "took_s": time.monotonic() - began_s}
        return row


def tasks(device: Device, kernelbench: Path | None) -> Iterator[Task]:
    """The built-in tasks and the problems that are given, in random order."""
    entries = builtin_suite(device) + (
        kernelbench_suite(kernelbench, (1, 2)) if kernelbench else []
    )
    for entry in random.Random(0).sample(entries, len(entries)):
        task = entry.task
        if entry.level.isdigit():
            text = shortened(task)
            if text is None:
                continue
            task = replace(task, source=text, name=f"level{entry.level} {entry.name}")
        yield task


def shortened(task: Task) -> str | None:
    """A problem's text as the exam has it; None if the exam leaves it out."""
    if WITHOUT in task.source.lower():
        return None
    try:
        return cut(task.source, MOST_BYTES)
    except Exception:  # its numbers depend on one another, in whatever way
        return None


def table(rows: Sequence[Row]) -> Table:
    """Every task's three speedups; fast_1 and the means."""
    shown = Table("task", "schedules", *ARMS, "median / best", "strongest")
    judged = [row for row in rows if all(isinstance(row.get(arm), list) for arm in ARMS)]
    for row in judged:
        cells = ["{:.2f} ({:.2f}–{:.2f})".format(*row[arm]) for arm in ARMS]
        shown.add_row(
            row["task"][:40], str(row["n"]), *cells, f"{row['spread']:.2f}", row["strongest"]
        )
    shown.add_section()
    n = len(judged)
    fast = [share(sum(row[arm][1] > 1 for row in judged), n) for arm in ARMS]
    shown.add_row("fast_1", "", *fast)
    means = [math.exp(sum(math.log(row[arm][0]) for row in judged) / max(1, n)) for arm in ARMS]
    shown.add_row("geometric mean", "", *(f"{mean:.3f}" for mean in means))
    return shown


def of_grid(path: Path, n_trials: int) -> Table:
    """For every program of a grid: eager's time over the program's, under several schedules. A
    program that was not timed as it was written is left out."""
    programs: dict[tuple[str, str, str], list[Measured]] = {}
    for row in open_grid(path):
        if row.code and row.reference_ns and row.time_ns:
            programs.setdefault((row.task_name, row.program, row.environment), []).append(row)
    shown = Table("program", "schedules", *GRID_ARMS, "slowest")
    logs: dict[str, list[float]] = {arm: [] for arm in GRID_ARMS}
    for (name, _, _), rows in sorted(programs.items()):
        written = [row.reference_ns / row.time_ns for row in rows if row.is_as_written]
        if not written:
            continue
        speeds = [row.reference_ns / row.time_ns for row in rows]
        drawn = math.exp(sum(map(math.log, speeds)) / len(speeds))
        found = (written[0], drawn, max(speeds[:n_trials]), max(speeds))
        for arm, speed in zip(GRID_ARMS, found, strict=True):
            logs[arm].append(math.log(speed))
        cells = (f"{speed:.2f}" for speed in (*found, min(speeds)))
        shown.add_row(name[:40], str(len(rows)), *cells)
    shown.add_section()
    n = len(logs["best"])
    shown.add_row(
        "faster than eager", "", *(share(sum(x > 0 for x in logs[a]), n) for a in GRID_ARMS)
    )
    means = (math.exp(sum(logs[arm]) / max(1, n)) for arm in GRID_ARMS)
    shown.add_row("geometric mean", "", *(f"{mean:.2f}" for mean in means))
    return shown


@click.command()
@click.option("--kernelbench", type=click.Path(path_type=Path, exists=True), help="A checkout.")
@click.option("--device", default="cpu", show_default=True)
@click.option("--dialect", help="Default: the first that is timed on the device.")
@click.option("--schedules", default=64, show_default=True, help="Of each answer.")
@click.option("--trials", default=16, show_default=True, help="After which the tuner stops.")
@click.option("--only", multiple=True, metavar="NAME", help="Tasks of this name.")
@click.option("--out", type=click.Path(path_type=Path), help="Append every row here, as JSON.")
@click.option("--shard", default="0/1", show_default=True, help="Every N-th task, from the K-th.")
@click.option("--limit", default="1h", show_default=True, help="Begin no task after this time.")
@click.option("--grid", type=click.Path(path_type=Path), help="Print a grid's table.")
@click.option("--table", "tables", multiple=True, type=click.Path(path_type=Path))
def main(
    kernelbench: Path | None, device: str, dialect: str | None, schedules: int, trials: int,
    only: tuple[str, ...], out: Path | None, shard: str, limit: str, grid: Path | None,
    tables: tuple[Path, ...],
) -> None:  # fmt: skip
    """Study the tasks, or print the table of earlier rows."""
    console = Console(width=160)
    if grid is not None:
        console.print(of_grid(grid, trials))
        return
    rows = [json.loads(line) for path in tables for line in path.read_text().splitlines()]
    if not tables:
        until, (first, step) = time.monotonic() + parse_seconds(limit), map(int, shard.split("/"))
        here = resolve(Device.parse(device))
        written_in = dialect or timed_dialects((), here)[0]
        with SharedForkServerProcess() as server:
            for task in itertools.islice(tasks(here, kernelbench), first, None, step):
                if only and task.name not in only:
                    continue
                if time.monotonic() > until:
                    break
                try:
                    row = studied(task, here, written_in, server, (schedules, trials))
                except (Untunable, CannotCapture, KernelwrightError) as reason:
                    row = {"task": task.name, "why": str(reason)[:200]}
                rows.append(row)
                click.echo(json.dumps(row), err=True)
                if out is not None:
                    with out.open("a") as file:
                        file.write(json.dumps(row) + "\n")
    console.print(table(rows))
    for row in rows:
        if "why" in row:
            console.print(f"{row['task']}: {row['why']}")


if __name__ == "__main__":
    main()

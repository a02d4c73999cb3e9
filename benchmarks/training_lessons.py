"""Lessons as training pairs, many a second, without a GPU.

    python benchmarks/training_lessons.py --exclude KernelBench/KernelBench/level1 \\
        --exclude KernelBench/KernelBench/level2 --out pairs [--seeds 4] [--count 1600]

As ``kernelwright tasks lessons --schedules 3`` and ``dataset build`` would make them, but for the
judge: each kernel is compared on a few draws with its reference in float64, in Triton's
interpreter, at sizes of tens; the judge's sandbox takes a second for each. Some prompts show right
kernels of other schedules, whose speed nobody knows, so that a model learns to write another one.
Axes are then written 1 to 32 times as long, so that a model reads numbers as they are on a GPU.
What repeats a task of --exclude by structure is left out.
"""

from __future__ import annotations

import os

os.environ["TRITON_INTERPRET"] = "1"  # read when Triton is imported

import itertools
import json
import multiprocessing
import random
import re
import signal
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import click
import torch
import triton  # noqa: F401 - kernels' files import it, and none would be right without
from opened import opened

from kernelwright.core.candidate import Brief, Exemplar, Proposal
from kernelwright.core.device import Device
from kernelwright.core.evaluation import Environment, Evaluation
from kernelwright.core.outcome import Status
from kernelwright.core.task import Task
from kernelwright.dataset.answer import lesson_answer
from kernelwright.dataset.build import excluded_tasks
from kernelwright.dataset.pairs import Pair, write_pairs
from kernelwright.dataset.parquet import arrow
from kernelwright.loaders.structure import KnownStructures, structure
from kernelwright.proposers.policy import CONTEXT
from kernelwright.proposers.swarm.prompt import generator
from kernelwright.proposers.swarm.question import Question
from kernelwright.suites.composed.lessons import PROPOSER, Lesson, lessons

DEVICE = Device("cuda", "sm_90")
LIMIT_S = 5
SCALES, ALIKE = (1.0, 1.0, 1 / 256, 0.0), 0.7
"""Of draws: what is right near one may have lost all near zero; 0: all of them are ALIKE."""
AXIS = re.compile(r"^(\w+) = (\d+)$", re.MULTILINE)
SCHEDULES = 3
SHOWN_SHARE = 0.35
"""Of tasks whose prompt shows the kernels of all schedules but one."""
LEAST = 24
"""What is smaller is no axis, but a kernel's edge or a number of groups."""
FACTORS = (1, 4, 8, 16, 32)
PRODUCT_SHARE = 0.15
"""Of tasks that write a long axis as a product, as people do."""


def scaled(x: torch.Tensor, scale: float) -> torch.Tensor:
    """An input like that, if it is no index."""
    if not x.is_floating_point():
        return x
    return x * scale if scale else torch.full_like(x, ALIKE)


def agrees(lesson: Lesson, folder: Path) -> bool:
    """Whether the kernel is about as near to the reference in float64 as that in float32 is."""
    reference = opened(lesson.task.source, folder)
    mine = opened(lesson.candidate.source, folder)
    initial = reference.get_init_inputs()
    model, exact, other = (make(*initial) for make in (*[reference.Model] * 2, mine.ModelNew))
    exact.load_state_dict(model.state_dict())
    other.load_state_dict(model.state_dict())
    exact.double()
    for scale in SCALES:
        inputs = [scaled(x, scale) for x in reference.get_inputs()]
        with torch.no_grad():
            got = other(*inputs)
            wanted = exact(*(x.double() if x.is_floating_point() else x for x in inputs))
            own = (model(*inputs) - wanted).abs().max()
        if got.shape != wanted.shape:
            return False
        allowed = 2e-4 * wanted.abs() + 1e-5 * wanted.abs().max() + 4 * own
        allowed += 0.0 if scale else 1e-5 * ALIKE
        if not ((got - wanted).abs() <= allowed).all():
            return False
    return True


def right(lesson: Lesson, folder: Path) -> bool:
    """Whether it agrees, soon, without failing."""

    def late(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT_S)
    try:
        return agrees(lesson, folder)
    except Exception:  # whatever a kernel does wrong
        return False
    finally:
        signal.alarm(0)


def shown(others: Sequence[Lesson]) -> tuple[Exemplar, ...]:
    """Right kernels, as a prompt shows them; no judge has seen them."""
    return tuple(
        Exemplar(
            Proposal(other.candidate, PROPOSER),
            Evaluation(
                other.task.digest, "", other.candidate.digest, Status.PASSED, (),
                Environment(str(DEVICE), {}), seed=0, judge_version=0,
            ),
            role="other",
        )
        for other in others
    )  # fmt: skip


def pair(lesson: Lesson, number: int, others: Sequence[Lesson]) -> Pair:
    """The training pair, with axes as they are on a GPU."""
    factor, dialect = random.Random(number).choice(FACTORS), lesson.candidate.dialect
    is_product = random.Random(f"product {number}").random() < PRODUCT_SHARE

    def longer(found: re.Match[str]) -> str:
        size = int(found[2])
        if size < LEAST or factor == 1:
            return found[0]
        length = f"{size} * {factor}" if is_product else str(size * factor)
        return f"{found[1]} = {length}"

    task = Task(lesson.task.name, lesson.task.origin, AXIS.sub(longer, lesson.task.source))
    brief = Brief(task, DEVICE, (dialect,), shown(others), threads=1)
    code = lesson.candidate.source
    return Pair(
        task_digest=task.digest, task_name=task.name, task_source=task.source, dialect=dialect,
        device=str(DEVICE), prompt=generator(brief, Question("write", dialect), CONTEXT),
        answer=lesson_answer(lesson.form, code=code), code=code, status="passed", kinds=(),
        speedup=None, speedup_low=None, speedup_high=None, origin=PROPOSER, split="train",
        provenance=json.dumps({"checked": "Triton's interpreter"}),
    )  # fmt: skip


Fate = Counter[tuple[str, str]]
"""Lessons by form, and what became of them."""


def drawn(seed: int, count: int, exclude: Sequence[Path]) -> tuple[list[Pair], Fate]:
    """The pairs of one seed, and what became of its lessons."""
    torch.set_num_threads(1)
    tests, found, fate = KnownStructures(excluded_tasks(exclude)), [], Counter()
    with tempfile.TemporaryDirectory() as folder:
        written = lessons(count, seed=seed, schedules=SCHEDULES)
        by_task = itertools.groupby(written, lambda lesson: lesson.task.digest)
        for number, (_, kernels) in enumerate(by_task):
            lesson, *others = kernels
            if random.Random(f"shown {seed} {number}").random() >= SHOWN_SHARE:
                others = []
            others = [other for other in others if right(other, Path(folder))]
            form = lesson.form.partition(", ")[0]
            if not right(lesson, Path(folder)):
                fate[form, "did not agree, or not in time"] += 1
            elif tests.repeated_by(structure(lesson.task)):
                fate[form, "repeat a test"] += 1
            else:
                fate[form, f"kept, beside {len(others)}" if others else "kept"] += 1
                found.append(pair(lesson, number, others))
    return found, fate


@click.command()
@click.option("--exclude", type=click.Path(path_type=Path), multiple=True, help="Tests.")
@click.option("--out", type=click.Path(path_type=Path), required=True, help="Folder of the pairs.")
@click.option("--seeds", default=4, show_default=True, help="Each in a process of its own.")
@click.option("--first", default=900, show_default=True, help="The first seed.")
@click.option("--count", default=1600, show_default=True, help="Lessons of each seed.")
def main(exclude: Sequence[Path], out: Path, seeds: int, first: int, count: int) -> None:
    """Write the pairs, and say what was left out."""
    arrow()  # fails at once where there is none
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(os.cpu_count(), mp_context=spawned) as pool:
        asked = [pool.submit(drawn, first + n, count, exclude) for n in range(seeds)]
        found = [one.result() for one in asked]
    pairs = {one.task_digest: one for some, _ in found for one in some}
    write_pairs(list(pairs.values()), out)
    fate: Fate = sum((fate for _, fate in found), Counter())
    for form in sorted({form for form, _ in fate}):
        click.echo(f"{form}: {told({w: n for (f, w), n in fate.items() if f == form})}")
    of_all: Counter[str] = Counter()
    for (_, what), n in fate.items():
        of_all[what] += n
    click.echo(f"{len(pairs)} pairs in {out}; {told(of_all)}")


def told(fate: Mapping[str, int]) -> str:
    """What became of how many."""
    return ", ".join(f"{n} {what}" for what, n in sorted(fate.items()))


if __name__ == "__main__":
    main()

"""Lessons drawn at random: a form writes the task and its kernel from one draw."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.compose.degenerate import faults
from kernelwright.compose.draft import Draft
from kernelwright.compose.lessons.columns import column_reduction
from kernelwright.compose.lessons.flat import loss, pointwise
from kernelwright.compose.lessons.rows import normalisation, reduction, scan, softmax
from kernelwright.compose.lessons.sheet import Sheet
from kernelwright.compose.lessons.tiles import batched, linear, product, turned
from kernelwright.compose.sizes import sizes_of
from kernelwright.compose.text import slug, text
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.task import Task

FORMS: dict[str, Callable[[Sheet], str]] = {
    "pointwise": pointwise, "loss": loss, "softmax": softmax, "normalisation": normalisation,
    "scan": scan, "reduction": reduction, "column reduction": column_reduction,
    "linear": linear, "product": product, "turned product": turned, "batched product": batched,
}  # fmt: skip
WEIGHTS = {"pointwise": 3, "normalisation": 2, "softmax": 2, "linear": 2}
"""How much more often than others: what most other tasks are made of."""
ORIGIN = "composed"
DIALECT = "triton"


@dataclass(frozen=True)
class Lesson:
    """A task, and a kernel for it that the judge has yet to find right."""

    task: Task
    candidate: Candidate
    form: str


def lessons(
    count: int, *, seed: int = 0, size: str = "small", forms: Sequence[str] = ()
) -> Iterator[Lesson]:
    """``count`` lessons of different text; the same for the same arguments.

    No task is degenerate: each is tried out on the CPU with long axes cut short. Kernels are in
    float32, and take what the task declares in any shape.

    Raises:
        UsageError: no such size or form.
    """
    known = sizes_of(size)
    for name in forms:
        if name not in FORMS:
            raise UsageError(f'no form "{name}"', seen=name, do=nearest(name, FORMS))
    names = list(forms) or list(FORMS)
    seen: set[str] = set()
    number = 0
    while len(seen) < count:
        draw = random.Random(f"lesson {seed} {size} {number}")
        (form,) = draw.choices(names, [WEIGHTS.get(name, 1) for name in names])
        sheet = Sheet(Draft(draw, known))
        code = FORMS[form](sheet)
        name = f"{len(seen) + 1:04d}_{slug(sheet.draft)}"
        task = Task(name, ORIGIN, text(sheet.draft))
        trial = Task(name, ORIGIN, text(sheet.draft, is_trial=True))
        if task.digest not in seen and not faults(trial):
            seen.add(task.digest)
            yield Lesson(task, Candidate(code, DIALECT), form)
        number += 1

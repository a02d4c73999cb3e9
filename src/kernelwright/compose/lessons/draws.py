"""Lessons drawn at random: a form writes the task and its kernel from one draw."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.compose.degenerate import faults
from kernelwright.compose.lessons import axes, flat, images, linears, products
from kernelwright.compose.lessons.page import Page
from kernelwright.compose.lessons.schedule import Schedule
from kernelwright.compose.lessons.writing import Writing
from kernelwright.compose.sizes import Sizes, sizes_of
from kernelwright.compose.text import slug
from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.task import Task

FORMS: dict[str, Callable[[Page], str]] = {
    "reduction": axes.reduction,
    "mapping": axes.mapping,
    "index": axes.index,
    "scan": axes.scan,
    "pointwise": flat.pointwise,
    "spread": flat.spread,
    "loss": flat.loss,
    "row loss": flat.row_loss,
    "cross entropy": flat.cross_entropy,
    "product": products.product,
    "gram": products.gram,
    "added product": products.added,
    "image norm": images.image_norm,
    "plane": images.plane,
    "whole norm": images.whole_norm,
    "pooling": images.pooling,
    **linears.FORMS,
    "deep product": products.deep,
    "vector product": products.vector,
}
WEIGHTS = {
    "pointwise": 8, "spread": 3, "reduction": 6, "mapping": 8, "index": 3, "scan": 4, "loss": 4,
    "row loss": 2, "cross entropy": 2, "product": 14, "gram": 3, "added product": 3,
    "deep product": 5, "vector product": 3, "linear": 14, "linear reduced": 7, "linear mapped": 5,
    "linear grouped": 4, "linear batch norm": 4, "linear pooled": 4,
    "image norm": 8, "plane": 3, "whole norm": 3, "pooling": 8,
}  # fmt: skip
"""How often, beside others: what most other tasks are made of."""
FLAT = ("Memory bandwidth limits it.", "One pass over all elements.")
AXIS = ("Memory bandwidth limits it.", "One program per row or block of columns.")
LOSS = ("Memory bandwidth limits it.", "Each program sums its part.")
DOT = ("The product limits it.", "A tiled product with the steps after it.")
TWO = ("The product limits it.", "A tiled product, then one kernel for the rest.")
PROSE = {
    "pointwise": FLAT,
    "spread": FLAT,
    "loss": LOSS,
    "pooling": ("Memory bandwidth limits it.", "One program per block of results."),
    "whole norm": ("Memory bandwidth limits it.", "Sums of blocks, then one pass with the total."),
    "product": DOT,
    "gram": DOT,
    "linear": DOT,
    "added product": DOT,
    "deep product": DOT,
    **dict.fromkeys(linears.TWO_KERNELS, TWO),
}
"""What an answer says before its code: performance analysis, algorithm design."""
ORIGIN = "composed"
DIALECT = "triton"
PROPOSER = "forms"
"""What an archive has a lesson's kernel under, with the form for its lineage."""


@dataclass(frozen=True)
class Lesson:
    """A task, and a kernel for it that the judge has yet to find right."""

    task: Task
    candidate: Candidate
    form: str


def prose(form: str) -> tuple[str, str]:
    """Performance analysis and algorithm design of a form's kernels, as an answer begins with
    them: a line each, because a small model has few tokens."""
    return PROSE.get(form, AXIS)


def lessons(
    count: int, *, seed: int = 0, size: str = "small", forms: Sequence[str] = (),
    schedules: int = 1,
) -> Iterator[Lesson]:  # fmt: skip
    """Lessons of ``count`` tasks of different text; the same for the same arguments.

    A task has a kernel for each of at most ``schedules`` schedules, in lessons that follow one
    another: which is fast only the judge can say. No task is degenerate: each is tried out on the
    CPU with long axes cut short. Kernels are in float32, and take what the task declares in any
    shape.

    Not covered:
        Rows of over 2**20 values in scans and second kernels, 2**31 elements, 65,535 matrices or
        blocks of columns; long columns and products are added one by one. Batch norms leave the
        running statistics alone, which no output of the training mode needs.

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
        key = f"lesson {seed} {size} {number}"
        written = [_written(key, names, known, nth) for nth in range(schedules)]
        form, page, _, writing = written[0]
        name = f"{len(seen) + 1:04d}_{slug(page)}"
        task = Task(name, ORIGIN, writing.text())
        trial = Task(name, ORIGIN, writing.text(is_trial=True))
        if task.digest not in seen and not faults(trial):
            seen.add(task.digest)
            for text in dict.fromkeys(code for _, _, code, _ in written):
                yield Lesson(task, Candidate(text, DIALECT), form)
        number += 1


def _written(
    key: str, names: Sequence[str], sizes: Sizes, nth: int
) -> tuple[str, Page, str, Writing]:
    """One draw's form, page, kernel and task; the kernel by the nth of the draw's schedules."""
    draw = random.Random(key)
    (form,) = draw.choices(names, [WEIGHTS[name] for name in names])
    page = Page(draw, sizes, schedule=Schedule.drawn(random.Random(f"{key} schedule {nth}")))
    code = FORMS[form](page)
    return form, page, code, Writing(page, draw)

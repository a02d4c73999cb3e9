"""Lessons drawn at random: a form writes the task and its kernel from one draw."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.core.candidate import Candidate
from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.task import Task
from kernelwright.suites.composed.degenerate import faults
from kernelwright.suites.composed.lessons import (
    attention,
    axes,
    features,
    flat,
    images,
    layers,
    linears,
    losses,
    poolings,
    products,
)
from kernelwright.suites.composed.lessons.lesson_builder import LessonBuilder
from kernelwright.suites.composed.lessons.schedule import Schedule
from kernelwright.suites.composed.lessons.writing import Writing
from kernelwright.suites.composed.sizes import Sizes, sizes_of
from kernelwright.suites.composed.text import slug

FORMS: dict[str, Callable[[LessonBuilder], str]] = {
    "reduction": axes.reduction,
    "mapping": axes.mapping,
    "index": axes.index,
    "scan": axes.scan,
    "pointwise": flat.pointwise,
    "spread": flat.spread,
    "loss": losses.loss,
    "divergence": losses.divergence,
    "row loss": losses.row_loss,
    "cross entropy": losses.cross_entropy,
    "product": products.product,
    "gram": products.gram,
    "added product": products.added,
    "image norm": images.image_norm,
    "plane": images.plane,
    "whole norm": images.whole_norm,
    "pooling": poolings.pooling,
    "linear": linears.linear,
    "linear reduced": features.reduced,
    "linear mapped": features.mapped,
    "linear grouped": features.grouped,
    "linear batch norm": features.batch_normed,
    "linear pooled": features.pooled,
    "two linears": layers.two,
    "attention": attention.attention,
    "deep product": products.deep,
    "vector product": products.vector,
}
WEIGHTS = {
    "pointwise": 10, "spread": 2, "reduction": 7, "mapping": 8, "index": 3, "scan": 7, "loss": 4,
    "divergence": 3, "row loss": 2, "cross entropy": 3, "product": 14, "gram": 2,
    "added product": 3, "deep product": 5, "vector product": 3, "linear": 14, "linear reduced": 7,
    "linear mapped": 5, "linear grouped": 8, "linear batch norm": 5, "linear pooled": 4,
    "two linears": 6, "attention": 4, "image norm": 8, "plane": 3, "whole norm": 4, "pooling": 14,
}  # fmt: skip
"""Relative frequency of each form: high for the parts of most other tasks, and for forms that
models get wrong."""
MEMORY, PRODUCT = "Memory bandwidth limits it.", "The product limits it."
FLAT = (MEMORY, "One pass over all elements.")
AXIS = (MEMORY, "One program per row or block of columns.")
LOSS = (MEMORY, "Each program sums its part.")
DOT = (PRODUCT, "A tiled product with the steps after it.")
TWO = (PRODUCT, "A tiled product, then one kernel for the rest.")
PROSE = {
    "pointwise": FLAT,
    "spread": FLAT,
    "loss": LOSS,
    "divergence": LOSS,
    "row loss": (MEMORY, "One program per row of both inputs."),
    "cross entropy": (MEMORY, "One program per row of scores, which reads one label."),
    "pooling": (MEMORY, "One program per block of results."),
    "image norm": (MEMORY, "One program for all that is normalised together."),
    "plane": (MEMORY, "One program per plane."),
    "vector product": (MEMORY, "One program per row of the matrix."),
    "whole norm": (MEMORY, "Sums of blocks, then one pass with the total."),
    **dict.fromkeys(("product", "gram", "linear", "added product", "deep product"), DOT),
    **dict.fromkeys(("linear reduced", "linear mapped", "linear grouped", "linear pooled"), TWO),
    "linear batch norm": (PRODUCT, "A tiled product, then columns, then what is left of rows."),
    "two linears": (PRODUCT, "One tiled product with its own steps for each layer."),
    "attention": ("The products limit it.", "A running softmax over blocks of keys."),
}
"""The text of an answer before its code: performance analysis and algorithm design."""
WAYS = {
    "rows": "It goes along the last axis: one program per row.",
    "columns": "It does not go along the last axis: one program per block of columns.",
    "max": "The greatest of each window: one program per block of results.",
    "average": "The mean of each window, which has no dilation: one program per block of results.",
    "batched": "A tiled product for each matrix of the batch.",
    "lower": "A tiled product; below the diagonal row >= column is kept.",
    "upper": "A tiled product; above the diagonal row <= column is kept.",
}
"""The algorithm of a form that has several, by the part of its name after a comma."""
LONGEST = 2700
"""Limit on the characters of a kernel (about 950 tokens); longer answers are, or are nearly, cut
off in an exam."""
ORIGIN = "composed"
DIALECT = "triton"
PROPOSER = "forms"
"""Proposer under which an archive stores a lesson's kernel; its lineage names the form."""


@dataclass(frozen=True)
class Lesson:
    """A task, and a kernel for it that the judge has yet to check."""

    task: Task
    candidate: Candidate
    form: str
    """Name of the form; if it has several algorithms, followed by a comma and this one."""
    schedule: Schedule


def prose(form: str) -> tuple[str, str]:
    """Return the performance analysis and algorithm design with which an answer begins.

    They are one line each, because a small model has few tokens, and name the decisions that it
    must make first.
    """
    name, _, way = form.partition(", ")
    analysis, design = PROSE.get(name, AXIS)
    return analysis, WAYS.get(way, design)


def lessons(
    count: int,
    *,
    seed: int = 0,
    size: str = "small",
    forms: Sequence[str] = (),
    schedules: int = 1,
) -> Iterator[Lesson]:
    """Yield lessons of ``count`` tasks of different text; equal arguments give equal lessons.

    A task has a kernel for each of at most ``schedules`` schedules, in consecutive lessons. The
    first schedule is one that was fast elsewhere; only the judge can say which is fastest. No task
    is degenerate: each is tried out on the CPU with long axes cut short. Kernels are in float32,
    and take the task's declared inputs in any shape.

    Not covered:
        Rows of over 2**20 values in scans and second kernels, 2**31 elements, 65,535 matrices or
        blocks of columns; long columns and products are added one by one. Batch norms do not update
        the running statistics, which no output of the training mode needs.

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
        number += 1
        form, builder, code, writing = written[0]
        if len(code) > LONGEST:
            continue
        name = f"{len(seen) + 1:04d}_{slug(builder)}"
        task = Task(name, ORIGIN, writing.text())
        trial = Task(name, ORIGIN, writing.text(is_trial=True))
        if task.digest not in seen and not faults(trial):
            seen.add(task.digest)
            for text, schedule in {
                code: builder.schedule for _, builder, code, _ in written
            }.items():
                yield Lesson(task, Candidate(text, DIALECT), form, schedule)


def _written(
    key: str, names: Sequence[str], sizes: Sizes, nth: int
) -> tuple[str, LessonBuilder, str, Writing]:
    """Return one draw's form, builder, kernel and task; the kernel uses the draw's ``nth``
    schedule."""
    draw = random.Random(key)
    (form,) = draw.choices(names, [WEIGHTS[name] for name in names])
    drawn = Schedule.drawn if nth else Schedule.quick
    builder = LessonBuilder(
        draw, sizes, schedule=drawn(random.Random(f"{key} {form} schedule {nth}"))
    )
    code = FORMS[form](builder)
    return (
        ", ".join([form, builder.way][: 1 + bool(builder.way)]),
        builder,
        code,
        Writing(builder, draw),
    )

"""Random but sensible tasks: families of operators are drawn and tried out."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from kernelwright.core.errors import UsageError, nearest
from kernelwright.core.task import Task
from kernelwright.suites.composed.degenerate import faults
from kernelwright.suites.composed.elementwise import pointwise, reduction, scan
from kernelwright.suites.composed.losses import loss
from kernelwright.suites.composed.networks import network
from kernelwright.suites.composed.products import conv, gemm, pooling
from kernelwright.suites.composed.rowwise import normalisation, softmax
from kernelwright.suites.composed.sizes import sizes_of
from kernelwright.suites.composed.task_builder import TaskBuilder
from kernelwright.suites.composed.text import slug, text

FAMILIES: dict[str, Callable[[TaskBuilder], None]] = {
    "pointwise": pointwise, "reduction": reduction, "normalisation": normalisation,
    "softmax": softmax, "gemm": gemm, "conv": conv, "pooling": pooling, "scan": scan,
    "loss": loss, "network": network,
}  # fmt: skip
HALVES = ("bfloat16", "float16")
HALF_SHARE = 0.1
"""Share of the tasks of these families that compute in half precision."""
IN_HALF = ("pointwise", "normalisation", "gemm", "pooling")
ORIGIN = "composed"


@dataclass(frozen=True)
class Composed:
    """A composed task and its origin."""

    task: Task
    family: str
    number: int
    """Number of the draw: the same number under the same seed gives the same task."""
    words: tuple[str, ...]
    """Descriptions of its forward's steps, in order."""


def compose(
    count: int, *, seed: int = 0, size: str = "cpu", families: Sequence[str] = ()
) -> Iterator[Composed]:
    """Yield ``count`` tasks of different text, none degenerate; equal arguments, equal tasks.

    A task is tried out on the CPU with long axes cut short.

    Raises:
        UsageError: no such size or family.
    """
    known = sizes_of(size)
    for name in families:
        if name not in FAMILIES:
            raise UsageError(f'no family "{name}"', seen=name, do=nearest(name, FAMILIES))
    seen: set[str] = set()
    number = 0
    while len(seen) < count:
        draw = random.Random(f"{seed} {size} {number}")
        family = draw.choice(tuple(families) or tuple(FAMILIES))
        builder = TaskBuilder(draw, known, dtype=_dtype(draw, family))
        FAMILIES[family](builder)
        name = f"{len(seen) + 1:04d}_{slug(builder)}"
        task = Task(name, ORIGIN, text(builder))
        trial = Task(name, ORIGIN, text(builder, is_trial=True))
        if task.digest not in seen and not faults(trial):
            seen.add(task.digest)
            yield Composed(task, family, number, tuple(builder.words))
        number += 1


def _dtype(draw: random.Random, family: str) -> str:
    is_half = draw.random() < HALF_SHARE and family in IN_HALF
    return draw.choice(HALVES) if is_half else "float32"

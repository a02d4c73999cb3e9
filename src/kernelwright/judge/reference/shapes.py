"""Other inputs that a task declares: shapes besides those that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from kernelwright.judge.compare.growth import Terms
from kernelwright.judge.profile import Shapes
from kernelwright.judge.sandbox.layout import shapes_text

OTHERS_MISFIT = ("the reference fails on other inputs", "mend it")
"""What a task's error says, and what to do."""
Look = Callable[[list[Any]], tuple[list[torch.Tensor], Terms]]


def find_shapes(given: Iterable[list[Any]], look: Look) -> dict[str, Shapes]:
    """Every other set of inputs, by a name of its shapes; ``look`` gives the outputs of the
    reference without memory, and terms per output."""
    found: dict[str, Shapes] = {}
    for number, arguments in enumerate(given):
        label = shapes_text(arguments)
        if label in found:
            label = f"{label} ({number + 1})"
        found[label] = Shapes(label, number, *look(arguments))
    return found

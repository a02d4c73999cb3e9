"""Other inputs that a task declares: shapes besides those that are timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from kernelwright.judge.compare.growth import Terms
from kernelwright.judge.machine.layout import shapes_text
from kernelwright.judge.perturb.draws import Draw, Other, derive_seed

OTHERS_MISFIT = ("the reference fails on other inputs", "mend it")
"""What is said of them, and what to do."""
Look = Callable[[list[Any]], tuple[list[torch.Tensor], Terms]]


def find_others(given: Iterable[list[Any]], look: Look, seed: int) -> dict[str, Other]:
    """What the reference makes of every other set of inputs, by a name of its shapes; ``look``
    gives the shapes of its results, and terms per output."""
    others: dict[str, Other] = {}
    for number, arguments in enumerate(given):
        label = shapes_text(arguments)
        if label in others:
            label = f"{label} ({number + 1})"
        example, terms = look(arguments)
        draw = Draw(label, derive_seed(seed, number))
        others[label] = Other(number, draw, example, terms)
    return others

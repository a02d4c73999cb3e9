"""A module in float64, with everything that it holds."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from kernelwright.judge.lowering import rounded
from kernelwright.judge.nudges import widen
from kernelwright.load.copies import copied

NO_FLOAT64 = (
    "float64 is not possible for this reference on this machine: its own result is compared",
)
OTHER_IN_FLOAT64 = (
    "in float64 this reference gives something else, as one does that draws random numbers: its "
    "own result is compared",
)


def in_float64(module: torch.nn.Module, precision: str = "") -> torch.nn.Module:
    """A copy in float64, with ``precision`` its weights rounded to it; tensors that are plain
    attributes too, which ``Module.double`` leaves as they are."""
    twin = copied(module)
    if precision:
        for weight in twin.parameters():
            weight.data = rounded(weight.data, precision)
    for part in twin.modules():
        for name, value in vars(part).items():
            if isinstance(value, torch.Tensor):
                vars(part)[name] = widen(value)
    return twin._apply(widen)  # as double(), and complex ones too


@contextlib.contextmanager
def made_in_float64() -> Iterator[None]:
    """While it is entered, tensors are made in float64 where no type is named."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before)

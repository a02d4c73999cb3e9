"""Integers are compared exactly, except where rounding decides what they are."""

from __future__ import annotations

import math

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.compare.expected import Output
from kernelwright.judge.compare.pieces import first_of
from kernelwright.judge.refusal import WrongValues

UNSEEN = 1 / 4
"""The numbers beyond those that were seen to depend on rounding that may, as a share of those, on
inputs beyond the task's own: a few nudges do not show every number that lies on a border."""


def compare_exactly(name: str, value: torch.Tensor, output: Output, most: float) -> list[Warned]:
    """Warn where integers differ only where rounding decides (``output.loose``), in at most the
    share ``most`` of them; if that is all of them, in UNSEEN more. A number may be float64's, from
    which the reference's own differs.

    Raises:
        WrongValues: they differ elsewhere, or more of them.
    """
    value, own, exact = as_bytes(value), as_bytes(output.own), as_bytes(output.exact)
    wrong = (value != own) & (value != exact)
    if not bool(wrong.any()):
        return []
    share = int(wrong.sum()) / wrong.numel()
    n_unseen = 0
    if output.loose is not None and share <= most:
        wrong &= ~output.loose
        n_unseen = math.ceil(UNSEEN * int(output.loose.sum())) if most == 1.0 else 0
    if int(wrong.sum()) <= n_unseen:
        told = f"{name}: whole numbers differ where the inputs' last digits decide"
        return [Warned(WarningCode.LAST_DIGITS, told)]
    where = first_of(wrong)
    raise WrongValues(
        f"{name}: {share:.3%} of the elements differ, first at {list(where)}: "
        f"{value[where].item()} instead of {own[where].item()}"
    )


def as_bytes(x: torch.Tensor) -> torch.Tensor:
    """Booleans as their bytes, others unchanged: to torch any byte but zero is true, to C++ only
    1."""
    return x.view(torch.uint8) if x.dtype == torch.bool else x

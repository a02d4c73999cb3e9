"""Integers are compared exactly, except where rounding decides what they are."""

from __future__ import annotations

import math

import torch

from kernelwright.core.outcome import Warned, WarningCode
from kernelwright.judge.refusal import WrongValues

FEW_MOVED = 8
"""Counts that may differ by one, however few there are: an element that falls into another bin
changes two."""
UNSEEN = 1 / 4
"""On inputs beyond the task's own: how many more numbers may depend on rounding than were seen to,
as a share of those. A few nudges do not show every number that lies on a border."""
ONE_OF = 32
"""Size of an output from which a single number may differ: one of sixty-four words may be a tie."""


def compare_exactly(
    name: str,
    value: torch.Tensor,
    own: torch.Tensor,
    exact: torch.Tensor,
    loose: torch.Tensor | None,
    most: float,
) -> list[Warned]:
    """A warning where they differ only where rounding decides, by ``loose``; none where a number is
    float64's, of which the reference's own is off.

    Raises:
        WrongValues: they differ elsewhere, or more of them than ``most``.
    """
    value, own, exact = as_bytes(value), as_bytes(own), as_bytes(exact)
    wrong = (value != own) & (value != exact)
    if not bool(wrong.any()):
        return []
    share = float(wrong.float().mean())
    if loose is not None and most == 1.0 and bool(loose.all()):
        return [_warned(name, "they are not compared")]
    is_one = value.numel() >= ONE_OF and int(wrong.sum()) == 1
    is_little = share <= most or is_one or _are_counts(value[wrong].double() - own[wrong].double())
    if loose is not None and is_little and int((wrong & ~loose).sum()) <= _unseen(loose, most):
        return [_warned(name, "the inputs' last digits decide")]
    wrong = wrong & ~loose if loose is not None and is_little else wrong
    where = tuple(wrong.nonzero()[0].tolist())
    raise WrongValues(
        f"{name}: {share:.3%} of the elements differ, first at {list(where)}: "
        f"{value[where].item()} instead of {own[where].item()}"
    )


def _warned(name: str, where: str) -> Warned:
    return Warned(WarningCode.LAST_DIGITS, f"{name}: whole numbers differ where {where}")


def as_bytes(x: torch.Tensor) -> torch.Tensor:
    """Booleans as their bytes, others unchanged: to torch any byte but zero is true, to C++ only
    1."""
    return x.view(torch.uint8) if x.dtype == torch.bool else x


def _unseen(loose: torch.Tensor, most: float) -> int:
    return math.ceil(UNSEEN * int(loose.sum())) if most == 1.0 else 0


def _are_counts(moved: torch.Tensor) -> bool:
    """Whether differences are those of counts between which a few elements have moved."""
    return len(moved) <= FEW_MOVED and bool((moved.abs() == 1).all()) and float(moved.sum()) == 0

"""What tests of perturbations share: inputs under a check's distribution, by its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from kernelwright.judge.checks import CHECKS
from kernelwright.judge.checks.registry import VALUES
from kernelwright.judge.perturb import values
from kernelwright.judge.perturb.variation import Variation

NAMES = [check.id for check in VALUES]
OTHER_NAMES = {
    "below": values.negative_slices,
    "empty": values.empty_slices,
    "ill_conditioned": values.conditioned,
}


def transform(arguments: list[Any], name: str, seed: int) -> list[Any]:
    """``arguments`` under the distribution of the check of that name."""
    return values.transform(arguments, OTHER_NAMES.get(name) or getattr(values, name), seed)


def perturbed(
    own: list[Any],
    name: str,
    seed: int,
    *,
    accepts: Callable[[list[Any], list[Any]], bool] = lambda changed, own: True,
    run: Callable[[list[Any]], list[torch.Tensor]] = lambda given: [],
    fixed_integers: tuple[bool, ...] = (),
) -> list[Any]:
    """The arguments of a check of that name, for a reference that accepts some changes only."""
    variation = Variation(accepts, run)
    perturb = CHECKS[name].perturb
    return variation.perturbed(perturb, own, seed, fixed_integers=fixed_integers)

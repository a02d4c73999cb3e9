"""What a module returns, as the judge reads it."""

from __future__ import annotations

from typing import Any

import torch

from kernelwright.core.errors import TaskError


def flatten(value: Any) -> list[torch.Tensor]:
    """The tensors of a module's result, in order; None, as attention gives for weights that were
    not asked for, is no result.

    Raises:
        TaskError: the result holds something that cannot be compared.
    """
    if isinstance(value, torch.Tensor):
        return [value]
    if value is None:
        return []
    if isinstance(value, (list, tuple)):
        return [tensor for item in value for tensor in flatten(item)]
    raise TaskError(
        "the forward's result cannot be compared",
        seen=type(value).__name__,
        do="let forward return a tensor, or lists and tuples of tensors",
    )

"""Changed tensors in the memory layout of the originals."""

from __future__ import annotations

import torch

from kernelwright.judge.sandbox.layout import span


def laid_out(changed: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """``changed`` with the strides of ``x`` and zeros in the gaps: a candidate may read all of that
    memory, which could otherwise hold what the judge has freed."""
    if changed.stride() == x.stride():
        return changed
    memory = x.new_zeros(span(tuple(x.shape), x.stride()))
    return memory.as_strided(x.shape, x.stride()).copy_(changed)

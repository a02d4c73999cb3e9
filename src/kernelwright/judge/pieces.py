"""Large tensors, a piece at a time."""

from __future__ import annotations

from collections.abc import Iterator

import torch

PIECE = {"cpu": 1 << 17, "cuda": 1 << 26}
"""Elements compared at a time: float64 temporaries stay in a CPU core's cache, and are small
beside a GPU's memory."""


def pieces(*tensors: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Tensors of one shape, cut alike along ``cut_axis`` into views of PIECE elements or so."""
    count = -(-tensors[0].numel() // PIECE.get(tensors[0].device.type, PIECE["cuda"]))
    if count < 2:
        yield tensors
    else:
        axis = cut_axis(tensors[0])
        yield from zip(*(t.chunk(count, axis) for t in tensors), strict=True)


def cut_axis(tensor: torch.Tensor) -> int:
    """The longest axis but the last, so that rows stay whole."""
    return max(range(max(tensor.dim() - 1, 1)), key=tensor.shape.__getitem__)

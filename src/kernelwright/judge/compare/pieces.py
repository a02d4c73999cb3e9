"""Large tensors, a piece at a time."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import torch

PIECE = {"cpu": 1 << 17, "cuda": 1 << 26}
"""Elements compared at a time, by kind of device: float64 temporaries then stay in a CPU core's
cache, and are small beside a GPU's memory."""
WORDS = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}


def pieces(*tensors: torch.Tensor) -> Iterator[tuple[torch.Tensor, ...]]:
    """Tensors of one shape, cut alike along ``cut_axis`` into views of PIECE elements or so."""
    count = -(-tensors[0].numel() // PIECE.get(tensors[0].device.type, PIECE["cuda"]))
    if count < 2:
        yield tensors
    else:
        axis = cut_axis(tensors[0])
        yield from zip(*(t.chunk(count, axis) for t in tensors), strict=True)


def mask_of(rule: Callable[..., torch.Tensor], *tensors: torch.Tensor) -> torch.Tensor:
    """The mask that ``rule`` gives for tensors of one shape, asked a piece at a time: what it makes
    on the way may be many times as large as the mask."""
    found = [rule(*piece) for piece in pieces(*tensors)]
    return found[0] if len(found) == 1 else torch.cat(found, cut_axis(tensors[0]))


def first_of(mask: torch.Tensor) -> tuple[int, ...]:
    """The first place where a mask is true. ``nonzero`` would take up to 8 bytes for each axis of
    every element."""
    found = mask.view(torch.uint8).flatten().argmax()
    return tuple(int(index) for index in torch.unravel_index(found, mask.shape))


def cut_axis(tensor: torch.Tensor) -> int:
    """The longest axis but the last, so that rows stay whole."""
    return max(range(max(tensor.dim() - 1, 1)), key=tensor.shape.__getitem__)


def same_bits(one: torch.Tensor, other: torch.Tensor) -> bool:
    """Whether two rows of one size hold the same bits, NaN too; compared as wide words."""
    starts = (t.storage_offset() * t.element_size() for t in (one, other))
    word = WORDS[math.gcd(one.numel() * one.element_size(), *starts, 8)]
    return all(torch.equal(a, b) for a, b in pieces(one.view(word), other.view(word)))

"""Which of several tensors overlap in memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from kernelwright.judge.sandbox.layout import span


class Extent(NamedTuple):
    """The memory of a tensor."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_bytes: int

    @property
    def n_bytes(self) -> int:
        """From the first element to the end of the last."""
        return span(self.shape, self.strides) * self.item_bytes


def extent_of(tensor: torch.Tensor) -> Extent:
    """The memory of a dense tensor of this process."""
    shape, strides = tuple(tensor.shape), tuple(tensor.stride())
    return Extent(tensor.data_ptr(), shape, strides, tensor.element_size())


def overlapping(extents: Sequence[Extent]) -> set[tuple[int, int]]:
    """The pairs of indices whose tensors have an element's bytes in common; columns of one table
    have none."""
    order = sorted(range(len(extents)), key=lambda number: extents[number].address)
    found = set()
    for rank, number in enumerate(order):
        first = extents[number]
        for other in order[rank + 1 :]:
            apart_bytes = extents[other].address - first.address
            if apart_bytes >= first.n_bytes:
                break
            one, two = (extents[n]._replace(address=0) for n in (number, other))
            if _do_overlap(one, two, apart_bytes):
                found.add((min(number, other), max(number, other)))
    return found


@functools.lru_cache
def _do_overlap(one: Extent, other: Extent, apart_bytes: int) -> bool:
    """True if two overlap that begin so far apart. Cached: outputs of all calls lie alike."""
    word_bytes = math.gcd(one.item_bytes, other.item_bytes, apart_bytes)
    end_bytes = max(one.n_bytes, apart_bytes + other.n_bytes)
    is_taken = torch.zeros(end_bytes // word_bytes, dtype=torch.bool)

    def words(extent: Extent, start_bytes: int) -> torch.Tensor:
        n_words = extent.item_bytes // word_bytes
        shape, strides = (*extent.shape, n_words), (*(s * n_words for s in extent.strides), 1)
        return is_taken.as_strided(shape, strides, start_bytes // word_bytes)

    words(one, 0).fill_(True)
    return bool(words(other, apart_bytes).any())

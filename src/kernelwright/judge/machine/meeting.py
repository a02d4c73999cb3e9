"""Which of several tensors have numbers in the same memory."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import torch

from kernelwright.judge.machine.layout import span


class Place(NamedTuple):
    """Where a tensor lies, as far as that says."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    item_bytes: int

    @property
    def n_bytes(self) -> int:
        """From the first element to the end of the last."""
        return span(self.shape, self.strides) * self.item_bytes


def place_of(tensor: torch.Tensor) -> Place:
    """Where a dense tensor of this process lies."""
    how = tuple(tensor.shape), tuple(tensor.stride())
    return Place(tensor.data_ptr(), *how, tensor.element_size())


def meeting(places: Sequence[Place]) -> set[tuple[int, int]]:
    """The pairs, by their numbers, that have an element's bytes in common; columns of one table
    have none."""
    order = sorted(range(len(places)), key=lambda number: places[number].address)
    found = set()
    for turn, number in enumerate(order):
        first = places[number]
        for other in order[turn + 1 :]:
            apart_bytes = places[other].address - first.address
            if apart_bytes >= first.n_bytes:
                break
            if _do_meet(*(one._replace(address=0) for one in (first, places[other])), apart_bytes):
                found.add((min(number, other), max(number, other)))
    return found


@functools.lru_cache
def _do_meet(one: Place, other: Place, apart_bytes: int) -> bool:
    """Whether two that begin so far from one another do: every call's outputs lie alike."""
    word_bytes = math.gcd(one.item_bytes, other.item_bytes, apart_bytes)
    end_bytes = max(one.n_bytes, apart_bytes + other.n_bytes)
    is_taken = torch.zeros(end_bytes // word_bytes, dtype=torch.bool)

    def words(place: Place, start_bytes: int) -> torch.Tensor:
        n_words = place.item_bytes // word_bytes
        shape, strides = (*place.shape, n_words), (*(s * n_words for s in place.strides), 1)
        return is_taken.as_strided(shape, strides, start_bytes // word_bytes)

    words(one, 0).fill_(True)
    return bool(words(other, apart_bytes).any())

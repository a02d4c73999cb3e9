"""How fast results can be written at all: what claims to be faster did not write them."""

from __future__ import annotations

import time

import torch

from kernelwright.judge.outputs import Claim
from kernelwright.judge.place import Place

N_FILLS = 30
MARGIN = 4.0
"""What one measurement may miss: calls cost time too, and candidates may write better."""
CACHED_SHARE = 0.25
"""Of the last-level cache: results that stay in it are written faster than to memory."""


def peak_bytes_per_s(place: Place) -> float:
    """An upper bound on how many bytes a second can be written on the device."""
    n_bytes = int(place.last_level_cache_bytes() * CACHED_SHARE)
    buffer = torch.zeros(n_bytes, dtype=torch.uint8, device=place.name)
    best_s = float("inf")
    for _ in range(N_FILLS):
        place.settle()
        start_s = time.perf_counter()
        buffer.fill_(1)
        place.settle()
        best_s = min(best_s, time.perf_counter() - start_s)
    return MARGIN * n_bytes / best_s


def least_ns(claims: list[Claim], like: list[torch.Tensor], bytes_per_s: float) -> float:
    """The time that writing these outputs takes at least.

    Units:
        Nanoseconds.
    Not covered:
        Reading inputs and arithmetic: how much of either is needed, nobody knows.
    """
    n_bytes = sum(
        min(claim.span, one.numel()) * one.element_size()
        for claim, one in zip(claims, like, strict=True)
    )
    return n_bytes / bytes_per_s * 1e9

"""Floating-point numbers of 8 bits: torch stores them and has hardly an operator for them."""

from __future__ import annotations

import torch


def is_of_eight_bits(t: torch.Tensor) -> bool:
    """Whether a tensor holds float8 numbers."""
    return t.is_floating_point() and t.element_size() == 1


def computable(t: torch.Tensor) -> torch.Tensor:
    """The same numbers in a type that torch computes with: float32 for float8."""
    return t.float() if is_of_eight_bits(t) else t


def stored_as(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The numbers in another type; float8 takes its largest number for larger ones, not NaN."""
    if dtype.is_floating_point and dtype.itemsize == 1:
        largest = torch.finfo(dtype).max
        t = t.clamp(-largest, largest)
    return t.to(dtype)

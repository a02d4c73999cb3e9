"""The type of tensors for which no type is named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@contextlib.contextmanager
def made_in(dtype: torch.dtype) -> Iterator[None]:
    """While it is entered, tensors are made in this floating-point type; whatever the type is when
    it is left, it is then what it was before."""
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)

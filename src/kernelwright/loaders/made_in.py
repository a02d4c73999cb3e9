"""A context that sets torch's default floating-point type."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch


@contextlib.contextmanager
def made_in(dtype: torch.dtype) -> Iterator[None]:
    """Make ``dtype`` the default floating-point type, and restore the previous one at the end.

    The previous default is restored even if the code inside changes the default itself.
    """
    import torch

    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)

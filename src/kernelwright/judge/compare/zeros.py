"""Modules that ask for zeros, as frames of padding, where the task's own inputs hold none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

COMPARING = {"eq", "ne", "gt", "ge", "lt", "le"}
"""Names of functions that may compare with zero."""
TELLING = {"any", "all", "bool", "logical_not", "count_nonzero", "nonzero"}
"""Names of functions that tell zeros from other numbers."""


class AskingForZeros(TorchFunctionMode):
    """Notes whether floats are compared with zero, or beyond it, with the same answer for all.

    What the module does for the other answer is then part of the task. Where answers differ, as
    before a ReLU, both are seen anyhow.
    """

    is_heard = False

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        found = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "").strip("_")
        x = args[0] if args else None
        if isinstance(x, torch.Tensor) and x.is_floating_point() and x.numel() > 1:
            if name in COMPARING and len(args) > 1 and _is_zero(args[1]):
                self.is_heard |= bool(found.all()) or not bool(found.any())
            elif name in TELLING:
                self.is_heard |= bool((x != 0).all())
        return found


def _is_zero(x: Any) -> bool:
    return type(x) in (int, float) and x == 0

"""Zeros that a module asks for, as frames of padding, where a task's own inputs hold none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

COMPARING = {"eq", "ne", "gt", "ge", "lt", "le"}
"""The names of functions that may be given a zero."""
TELLING = {"any", "all", "bool", "logical_not", "count_nonzero", "nonzero"}
"""Of those that tell it from other numbers."""


class AskingForZeros(TorchFunctionMode):
    """While it is entered, it notes whether somebody asks of floats whether they are zero, or
    beyond it, and all answer alike: what a module does with the others is part of it then. Where
    some answer otherwise, as the numbers before a ReLU, both answers are seen anyhow."""

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

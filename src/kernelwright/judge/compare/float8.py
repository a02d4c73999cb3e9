"""Numbers of 8 bits: torch stores them and has hardly an operator for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_any, tree_map


def is_float8(value: Any) -> bool:
    """Whether a value is a tensor of a floating-point type of 8 bits."""
    return isinstance(value, torch.Tensor) and _has_float8(value.dtype)


def widened(value: Any) -> Any:
    """Return float8 tensors as float32, and all other values as they are."""
    return value.float() if is_float8(value) else value


def stored_as(t: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """The numbers in another type; float8 takes its largest number for larger ones, not NaN."""
    if _has_float8(dtype):
        largest = torch.finfo(dtype).max
        t = t.float().clamp(-largest, largest)
    return t.to(dtype)


def computing_with(tensors: Iterable[torch.Tensor]) -> AbstractContextManager[Any]:
    """Context in which numbers like these can be computed with."""
    return Float8Widened() if any(map(is_float8, tensors)) else nullcontext()


class Float8Widened(TorchFunctionMode):
    """An operator that torch lacks for float8 is given float32 in its place, while this is entered.

    Operators that write to a float8 tensor are left alone: what they write would be lost.
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        try:
            return func(*args, **kwargs)
        except (NotImplementedError, RuntimeError):
            name = getattr(func, "__name__", "")
            writes = name.endswith("_") and not name.endswith("__") and is_float8(args[0])
            if writes or not tree_any(is_float8, (args, kwargs)):
                raise
        return func(*tree_map(widened, args), **tree_map(widened, kwargs))


def _has_float8(dtype: torch.dtype) -> bool:
    return dtype.is_floating_point and dtype.itemsize == 1

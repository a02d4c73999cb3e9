"""NaN that integers hide: an argmax over NaN, a comparison with NaN, a cast of NaN to an integer.

No result is right there, nor for numbers beyond an integer type's range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from kernelwright.judge.compare.measures import is_whole
from kernelwright.loaders.quiet_mode import QuietMode

Run = Callable[[list[Any]], list[torch.Tensor]]

CASTS = frozenset({"_to_copy", "copy"})
"""Operators of ATen that turn floats into integers."""
UNREAD = frozenset({"view", "empty_like", "full_like", "ones_like", "zeros_like"})
UNREAD |= {"new_empty", "new_full", "new_ones", "new_zeros"}
"""Operators whose result does not depend on their numbers, or only on the bits."""
ASKING = frozenset({"isnan", "isinf", "isposinf", "isneginf"})
EQUALITY = frozenset({"eq", "ne"})
"""Comparisons of a tensor with itself, or with infinity, ask for NaN as well."""


def with_hidden(run: Run, arguments: list[Any]) -> list[torch.Tensor]:
    """Return the results of ``run``, and one tensor more if integers hid a NaN on the way: it holds
    the NaN of the operator that hid most."""
    with _Watched() as watched:
        found = run(arguments)
    return [*found, *watched.hidden]


class _Watched(QuietMode):
    def __init__(self) -> None:
        super().__init__()
        self.hidden: list[torch.Tensor] = []
        self._share = 0.0

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        result = func(*args, **(kwargs or {}))
        wholes = [x for x in _tensors(result) if is_whole(x)]
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        if wholes and name not in UNREAD | ASKING and not _asks(name, args):
            for x in _tensors((args, kwargs)):
                if not is_whole(x):
                    self._note(x, wholes[0].dtype if name in CASTS else torch.bool)
        return result

    def _note(self, x: torch.Tensor, dtype: torch.dtype) -> None:
        """Keep where ``x`` is NaN or beyond the range of ``dtype``, if that is more than before."""
        x = x.float() if x.element_size() == 1 else x  # of 8 bits hardly an operator takes one
        is_none = x.isnan()
        if dtype != torch.bool:
            info = torch.iinfo(dtype)
            is_none |= (x.trunc() < float(info.min)) | (x >= float(info.max) + 1)
        share = float(is_none.double().mean()) if x.numel() else 0.0
        if share > self._share:
            self._share = share
            self.hidden = [torch.where(is_none, torch.nan, 0.0)]


def is_plain(x: Any) -> bool:
    """Whether it is a plain tensor whose numbers can be read, not one of a compiler's."""
    is_known = type(x) in (torch.Tensor, torch.nn.Parameter)
    return is_known and x.layout is torch.strided and not x.is_meta


def _tensors(given: Any) -> list[torch.Tensor]:
    return [x for x in tree_leaves(given) if is_plain(x)]


def _asks(name: str, args: Any) -> bool:
    """Whether a comparison asks for NaN or infinity."""
    if name not in EQUALITY:
        return False
    one, other = args[:2]
    is_infinity = isinstance(other, float) and math.isinf(other)
    return one is other or is_infinity

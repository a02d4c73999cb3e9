"""Integers that a forward reads on the host, such as the lengths of sequences.

``lengths.tolist()`` decides how a loop over sequences goes, as a size does, and torch cannot trace
it. The values of the given inputs then count as fixed, and kernels serve calls with the same values
alone. The forward itself waits for the device to read them, so that comparing costs no more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves

MOST = 4096
"""Integers in one tensor that is read. Routing tables of whole batches are no sizes."""
_READS = {torch.Tensor.tolist, torch.Tensor.item, torch.Tensor.__int__, torch.Tensor.__index__}
_PARTS = {
    torch.Tensor.__getitem__,
    torch.Tensor.unbind,
    torch.Tensor.select,
    torch.Tensor.flatten,
    torch.Tensor.cpu,
    torch.Tensor.long,
    torch.Tensor.int,
    torch.Tensor.to,
}
"""Operators whose results hold integers of the input, which may be read as well."""


def may_be_read(value: Any) -> bool:
    """Whether an argument holds integers that can count as sizes."""
    is_integer = isinstance(value, torch.Tensor) and value.dtype in (torch.int32, torch.int64)
    return is_integer and value.numel() <= MOST


class HostReads(TorchFunctionMode):
    """While a forward is traced, answers reads of integers with the values of ``given``."""

    def __init__(self, given: Sequence[torch.Tensor]) -> None:
        super().__init__()
        self._given = given
        self._known: dict[int, tuple[Any, torch.Tensor, int, int]] = {}
        """By id: a traced tensor, which is kept alive, its values, the input that they are from,
        and the tensor's version then: what was changed in place since has other values."""
        self._read: set[int] = set()

    @property
    def read(self) -> Mapping[int, Any]:
        """The values of every input that was read, by its position among the tensors."""
        return {position: self._given[position].tolist() for position in sorted(self._read)}

    def begin(self, traced: Sequence[Any]) -> None:
        """Let these tensors stand for the given ones."""
        self._known = {
            id(one): (one, real, position, one._version)
            for position, (one, real) in enumerate(zip(traced, self._given, strict=True))
            if may_be_read(real)
        }

    def __torch_function__(
        self, func: Any, types: Any, args: Sequence[Any] = (), kwargs: Any | None = None
    ) -> Any:
        named = kwargs or {}
        known = self._known.get(id(args[0])) if args else None
        if known is None or not (func in _READS or func in _PARTS):
            return func(*args, **named)
        one, real, position, version = known
        if one._version != version:
            return func(*args, **named)
        if func in _READS:
            self._read.add(position)
            with _disable_current_modes():
                return func(real, *args[1:], **named)
        found = func(*args, **named)
        others = tree_leaves((args[1:], named))
        if not any(isinstance(arg, torch.Tensor) for arg in others):
            with _disable_current_modes():
                values = func(real, *args[1:], **named)
            self._follow(found, values, position)
        return found

    def _follow(self, found: Any, values: Any, position: int) -> None:
        if isinstance(found, (tuple, list)):
            for one, value in zip(found, values, strict=True):
                self._follow(one, value, position)
        elif not values.is_floating_point():
            self._known[id(found)] = found, values, position, found._version

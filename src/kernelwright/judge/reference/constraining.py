"""Finds references that write to their weights in every call, as to keep them within a norm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.nn.modules.batchnorm import _NormBase
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.judge.compare.growth import memory_of


def constrainable(module: torch.nn.Module) -> list[torch.Tensor]:
    """Parameters and buffers, except the statistics of batch norms: in train mode no result depends
    on what is written there."""
    norms = (part for part in module.modules() if isinstance(part, _NormBase))
    statistics = {id(t) for norm in norms for t in norm.buffers(recurse=False)}
    return [*module.parameters(), *(t for t in module.buffers() if id(t) not in statistics)]


class Constraining(TorchDispatchMode):
    """Notes whether ``weights`` are written to, even if no number changes, or get other memory."""

    def __init__(self, weights: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self._weights = list(weights)
        self._memory = list(map(memory_of, self._weights))
        self._is_written = False

    @property
    def is_seen(self) -> bool:
        return self._is_written or list(map(memory_of, self._weights)) != self._memory

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        schema = func._schema
        if schema.is_mutable and not self._is_written:
            given = {one.name: x for one, x in zip(schema.arguments, args, strict=False)} | kwargs
            written = [
                given.get(one.name)
                for one in schema.arguments
                if one.alias_info is not None and one.alias_info.is_write
            ]
            self._is_written = any(
                isinstance(x, torch.Tensor) and memory_of(x) in self._memory for x in written
            )
        return func(*args, **kwargs)

"""Parameters that a reference writes to in every call, as to hold them within a norm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.judge.numerics.growth import memory_of


class Constraining(TorchDispatchMode):
    """While it is entered, it notes whether somebody writes to ``parameters``, also where that
    changes no number, or gives them other memory."""

    def __init__(self, parameters: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self._parameters = list(parameters)
        self._memory = list(map(memory_of, self._parameters))
        self._is_written = False

    @property
    def is_seen(self) -> bool:
        return self._is_written or list(map(memory_of, self._parameters)) != self._memory

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

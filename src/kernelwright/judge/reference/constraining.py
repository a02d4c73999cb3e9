"""Parameters that a reference writes to in every call, as to hold them within a norm."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from kernelwright.judge.machine.layout import written_out


class Constraining(TorchDispatchMode):
    """While it is entered, it notes whether somebody writes to ``parameters``, also where that
    changes no number, or gives them other memory."""

    def __init__(self, parameters: Iterable[torch.Tensor] = ()) -> None:
        super().__init__()
        self._parameters = list(parameters)
        self._memory = list(map(_memory, self._parameters))
        self._is_written = False

    @property
    def is_seen(self) -> bool:
        return self._is_written or list(map(_memory, self._parameters)) != self._memory

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
                isinstance(x, torch.Tensor) and _memory(x) in self._memory for x in written
            )
        return func(*args, **kwargs)


def _memory(t: torch.Tensor) -> int:
    return t.untyped_storage().data_ptr()


class Restoring:
    """Hooks that give a module its parameters back after every call, so that who leaves out what it
    does to them is not given the outcome; copies of the module have their own."""

    def __init__(self) -> None:
        self._held: list[tuple[torch.nn.Parameter, torch.Tensor, torch.Tensor]] = []

    def before(self, module: torch.nn.Module, args: Any) -> None:
        self._held = [(p, p.data, p.data.clone()) for p in module.parameters()]

    def after(self, module: torch.nn.Module, args: Any, result: Any) -> None:
        while self._held:
            parameter, memory, value = self._held.pop()
            parameter.data = memory.copy_(value)


def restoring(module: torch.nn.Module, device: str) -> torch.nn.Module:
    """The module on a device, where its calls leave its parameters as they were."""
    module, hooks = written_out(module).to(device), Restoring()
    module.register_forward_pre_hook(hooks.before)
    module.register_forward_hook(hooks.after, always_call=True)
    return module
